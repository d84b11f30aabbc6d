"""The headline comparison in two sentences: what was compared and why, then the gate's answer with its counts."""

from pydantic import Field

from evalplatform.comparisons.batches.records import BaselineChoice, BatchComparison
from evalplatform.gates.records import GateDecision, ReplayDeterminism
from evalplatform.kernel.text import plural
from evalplatform.kernel.values import Value
from evalplatform.reports.batch_comparison_words import flipped_to_failed, incomparable_words, short_batch_words
from evalplatform.reports.gate_words import SEED, answer_words, not_deterministic_words
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.records import Batch

CHOICE_WORDS: dict[BaselineChoice, str] = {
    "named": "the named batch",
    "previous_batch": "the previous batch",
    "last_gate": "the batch that its last gate compared it with",
    "branch": "the batch of the branch's last remembered gate",
    "seed": "itself, as the first baseline of its branch",
}


class Divergence(Value):
    """Where two compared runs part first: a scenario, and the 1-based step of the candidate (of the baseline where only that goes on)."""

    scenario_id: str
    step: int = Field(ge=1)


class HeadlineCounts(Value):
    """The numbers of the headline: scenarios, each under one name. Those that could not run are no flips; `compared` are all compared."""

    flipped_to_failing: int = Field(ge=0)
    flipped_to_passing: int = Field(ge=0)
    could_not_run: int = Field(ge=0)
    degraded: int = Field(ge=0)
    path_drift: int = Field(ge=0)
    dropped: int = Field(ge=0)
    added: int = Field(ge=0)
    not_compared: int = Field(ge=0)
    compared: int = Field(ge=0)


class Headline(Value):
    """The headline comparison, as every form of a report has it.

    Attributes:
        sentence: the gate's answer with its counts, and where the runs part first.
        counts: its numbers; None where no scenario was compared, so that there are none.
        choice: why this baseline.
        first_divergence: where the first changed scenario's runs part; None where no two kept trajectories differ.
    """

    sentence: str
    counts: HeadlineCounts | None
    choice: BaselineChoice
    first_divergence: Divergence | None


def headline_of(
    comparison: BatchComparison,
    *,
    choice: BaselineChoice = "named",
    divergence: Divergence | None = None,
    decision: GateDecision | None = None,
    determinism: ReplayDeterminism | None = None,
) -> Headline:
    """Return the headline of a comparison; where a gate policy decides, with that answer.

    `determinism` is what running the replays again showed, where the flip rule decides: a difference fails that gate too.
    """
    is_seed = choice == "seed"
    return Headline(
        sentence=headline_sentence(comparison, divergence=divergence, decision=decision, determinism=determinism, is_seed=is_seed),
        counts=headline_counts(comparison) if comparison.compared else None,
        choice=choice,
        first_divergence=divergence,
    )


def baseline_words(baseline: Batch, candidate: Batch, choice: BaselineChoice) -> str:
    """Return what is compared with what, and why: `Candidate b-2 against baseline b-1 (the previous batch)`."""
    return f"Candidate {short_batch_words(candidate)} against baseline {short_batch_words(baseline)} ({CHOICE_WORDS[choice]})"


def headline_sentence(
    comparison: BatchComparison,
    *,
    divergence: Divergence | None = None,
    decision: GateDecision | None = None,
    determinism: ReplayDeterminism | None = None,
    is_seed: bool = False,
) -> str:
    """Return the gate's answer with its counts, and where the runs part first.

    A clean result states its counts. One that was computed in part says so before them, and one that could not be computed says why and has
    none: neither reads as clean.
    """
    counts = f"{' · '.join(_counts(comparison))}."
    if decision is not None:
        said = f"The gate would {'fail' if decision.fails else 'pass'} ({answer_words(decision)}). By one run a side: {counts}"
    elif determinism is not None and determinism.differing:
        said = f"The gate would fail ({not_deterministic_words(determinism)}). By one run a side: {counts}"
    elif is_seed:
        said = f"The gate would pass ({SEED}). By one run a side: {counts}"
    elif comparison.incomparable_reason == "partly_compared":
        said = f"The gate has no answer: {incomparable_words(comparison)}. Counted: {counts}"
    elif comparison.verdict == "incomparable":
        return unanswered_headline(incomparable_words(comparison))
    else:
        said = f"The gate would {'fail' if comparison.would_fail else 'pass'} ({comparison.verdict}): {counts}"
    if divergence is None:
        return said
    return f"{said} First divergence at step {divergence.step} in {with_visible_spaces(divergence.scenario_id)}."


def unanswered_headline(reason: str) -> str:
    """Return the headline of a comparison that could not be computed."""
    return f"The comparison could not be computed: {reason.rstrip('.')}."


def headline_counts(comparison: BatchComparison) -> HeadlineCounts:
    """Return the numbers of the headline."""
    counts = comparison.counts
    return HeadlineCounts(
        flipped_to_failing=flipped_to_failed(comparison),
        flipped_to_passing=counts.get("newly_passing", 0),
        could_not_run=comparison.could_not_run,
        degraded=counts.get("degraded", 0),
        path_drift=counts.get("path_drift", 0),
        dropped=counts.get("dropped", 0),
        added=counts.get("added", 0),
        not_compared=counts.get("not_compared", 0),
        compared=comparison.compared,
    )


def _counts(comparison: BatchComparison) -> list[str]:
    """Return the flips and path drifts, also where there are none, what else there is, and the number of compared scenarios."""
    numbers = headline_counts(comparison).model_dump()
    flips, compared = _flips(numbers.pop("flipped_to_failing"), numbers.pop("flipped_to_passing")), numbers.pop("compared")
    shown = [f"{number:,} {name.replace('_', ' ')}" for name, number in numbers.items() if number or name == "path_drift"]
    return [*flips, *shown, plural(compared, "scenario")]


def _flips(failing: int, passing: int) -> list[str]:
    """Return the flips by direction, where there are any: `9 flipped to failing`, `10 to passing`; `0 flipped` without one."""
    if not failing:
        return [f"{passing:,} flipped to passing" if passing else "0 flipped"]
    return [f"{failing:,} flipped to failing", *([f"{passing:,} to passing"] if passing else [])]
