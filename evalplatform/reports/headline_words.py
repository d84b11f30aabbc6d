"""The headline comparison in two sentences: what was compared and why, then the gate's answer with its counts."""

from evalplatform.comparisons.batches.records import BaselineChoice, BatchComparison
from evalplatform.kernel.text import plural
from evalplatform.kernel.values import Value
from evalplatform.reports.batch_comparison_words import flipped_to_failed, incomparable_words, short_batch_words
from evalplatform.runs.records import Batch

CHOICE_WORDS: dict[BaselineChoice, str] = {
    "named": "the named batch",
    "previous_batch": "the previous batch",
    "last_gate": "the batch that its last gate compared it with",
}


class Divergence(Value):
    """Where two compared runs part first: a scenario, and the 1-based step of the candidate (of the baseline where only that goes on)."""

    scenario_id: str
    step: int


def baseline_words(baseline: Batch, candidate: Batch, choice: BaselineChoice) -> str:
    """Return what is compared with what, and why: `b-2 vs b-1 (the previous batch)`."""
    return f"{short_batch_words(candidate)} vs {short_batch_words(baseline)} ({CHOICE_WORDS[choice]})"


def headline_sentence(comparison: BatchComparison, *, divergence: Divergence | None = None) -> str:
    """Return the gate's answer with its counts, and where the runs part first.

    A clean result states its counts. One that could not be computed says so and why, and has no counts: it never reads as clean.
    """
    if comparison.verdict == "incomparable":
        return unanswered_headline(incomparable_words(comparison))
    answer = "fail" if comparison.would_fail else "pass"
    said = f"The gate would {answer} ({comparison.verdict}): {' · '.join(_counts(comparison))}."
    return said if divergence is None else f"{said} First divergence at step {divergence.step} in {divergence.scenario_id}."


def unanswered_headline(reason: str) -> str:
    """Return the headline of a comparison that could not be computed."""
    return f"The comparison could not be computed: {reason.rstrip('.')}."


def _counts(comparison: BatchComparison) -> list[str]:
    """Return the flips and path drifts, also where there are none, what else there is, and the number of compared scenarios."""
    counts = comparison.counts
    flipped = flipped_to_failed(comparison) + counts.get("newly_passing", 0)
    others = {
        "could not run": comparison.could_not_run,
        "degraded": counts.get("degraded", 0),
        "path drift": counts.get("path_drift", 0),
        "dropped": counts.get("dropped", 0),
        "added": counts.get("added", 0),
        "not compared": counts.get("not_compared", 0),
    }
    shown = [f"{number:,} {name}" for name, number in others.items() if number or name == "path drift"]
    return [f"{flipped:,} flipped", *shown, plural(comparison.compared, "scenario")]
