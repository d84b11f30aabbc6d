"""How a gate's decision is worded: readings, p-values, thresholds, the answer in one line, and the bound with its limits."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from evalplatform.gates.claim import COVERED, NOT_COVERED
from evalplatform.gates.records import GateDecision, ReplayDeterminism, ScenarioDecision, ScenarioReading, UnverifiedReason
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_words import outcome_words, some_scenarios

READING_WORDS: dict[ScenarioReading, str] = {
    "flipped": "flipped to failing",
    "not_flipped": "not flipped",
    "unverified": "unverified",
    "drop": "drop",
    "pre_existing_failing": "pre-existing failing",
    "drop_significant": "drop, significant",
    "listed_not_proven": "listed, not proven",
    "always_failing": "always failing",
    "not_significant": "not significant",
    "no_drop": "no drop",
}
UNVERIFIED_WORDS: dict[UnverifiedReason, str] = {
    "baseline_ungraded": "the baseline has no graded run of it",
    "candidate_ungraded": "the candidate has no graded run of it",
    "too_few_runs": "so few graded runs could not show even a total collapse",
    "legs_differ": "a replay stands against live runs",
}
SEED = "a batch against itself: the first baseline of its branch"
RAREST = Fraction(1, 10_000)


def reading_words(decided: ScenarioDecision) -> str:
    """Return how a scenario reads, and why where it is unverified."""
    said = READING_WORDS[decided.reading]
    return said if decided.unverified_reason is None else f"{said}: {UNVERIFIED_WORDS[decided.unverified_reason]}"


def side_words(decided: ScenarioDecision) -> str:
    """Return both sides: `10/10 → 0/10`, or under the flip rule `passed → failed`."""
    given = decided.scenario
    if given.rule == "flip":
        ends = (given.baseline_outcome, given.candidate_outcome)
        return " → ".join("no run" if end is None else outcome_words(end, "live") for end in ends)
    return f"{given.baseline.passed}/{given.baseline.graded} → {given.candidate.passed}/{given.candidate.graded}"


def p_words(p: Fraction | float) -> str:
    """Return a p-value with four decimals."""
    return f"p {float(p):.4f}"


def frequency_words(p: Fraction) -> str:
    """Return a p-value as a frequency: `about 1 time in 23`, below 1 in 10,000 that it is less, and of more than 2 in 3 tenths of times."""
    if p < RAREST:
        return "less than 1 time in 10,000"
    nearest = int(1 / p + Fraction(1, 2))
    if nearest > 1:
        return f"about 1 time in {nearest:,}"
    tenths = int(10 * p + Fraction(1, 2))
    return "nearly every time" if tenths == 10 else f"about {tenths} times in 10"


def threshold_words(decision: GateDecision) -> str:
    """Return the threshold of single standard scenarios, and by what the level was divided."""
    return f"K = {decision.k:,}, threshold {float(decision.threshold):.4f}"


def answer_words(decision: GateDecision) -> str:
    """Return what a decision rests on, in a few words: `1 significant drop, 1 critical drop`; of one that passes that nothing gates."""
    if decision.is_seed and not decision.fails:
        return SEED
    return ", ".join(_reasons(decision)) or "no scenario gates, and no drop is spread over the suite"


def not_deterministic_words(determinism: ReplayDeterminism) -> str:
    """Return how many replays came out otherwise when they were run again, in a few words."""
    return f"{plural(len(determinism.differing), 'replay')} not deterministic"


def suite_words(decision: GateDecision) -> str:
    """Return what the suite test found, as a sentence."""
    if not decision.suite_scenarios:
        return "Suite: no standard scenario is left for a test of drops that are spread out."
    found = "a drop that is spread over them: gates" if decision.suite_drop else "no spread-out drop"
    over = f"over the {plural(decision.suite_scenarios, 'standard scenario')} without a single flag"
    return f"Suite: exact stratified drop p {decision.suite_p:.3f} {over}: {found}."


def bound_words() -> Iterator[str]:
    """Yield how often a gate fails though nothing changed, and what that does not cover."""
    yield f"{COVERED[0].upper()}{COVERED[1:]}. Each critical scenario that is not perfectly reliable adds to that."
    yield f"Not covered by that: {'; '.join(NOT_COVERED[1:])}."


def _reasons(decision: GateDecision) -> Iterator[str]:
    counted = Counter(decided.reading for decided in decision.gating)
    if counted["drop_significant"]:
        yield plural(counted["drop_significant"], "significant drop")
    if counted["drop"]:
        yield plural(counted["drop"], "critical drop")
    if counted["flipped"]:
        yield f"{counted['flipped']:,} flipped"
    if counted["unverified"]:
        yield f"{counted['unverified']:,} unverified"
    if decision.suite_drop:
        yield "a drop spread over the suite"
    if decision.history_error is not None:
        yield "the history could not be read"
    if decision.determinism is not None and decision.determinism.differing:
        yield not_deterministic_words(decision.determinism)


def named_by_reading(decision: GateDecision, reading: ScenarioReading) -> str | None:
    """Return the scenarios that read so, by name; None without any."""
    found = [decided.scenario_id for decided in decision.scenarios if decided.reading == reading]
    return some_scenarios(found) if found else None
