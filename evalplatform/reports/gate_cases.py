"""A gate as test cases, one a scenario, and as the annotations of a CI build; what could not be decided is an error, never a pass."""

from collections.abc import Iterator, Mapping, Sequence

from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.gates.records import GateDecision, ReplayDeterminism, ScenarioDecision
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_words import counts_of_both, incomparable_words, not_compared_reason, run_words
from evalplatform.reports.gate_words import p_words, reading_words, side_words, suite_words
from evalplatform.reports.junit import JUnitCase
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.reports.workflow_commands import Annotation

GROUP = "gate"
DETERMINISM_GROUP = "replay determinism"
ANSWER = "can be decided"


def gate_cases(
    comparison: BatchComparison,
    decision: GateDecision | None,
    *,
    flips: Mapping[str, JUnitCase],
    determinism: ReplayDeterminism | None = None,
    is_seed: bool = False,
) -> list[JUnitCase]:
    """Return the cases of a gate: every scenario, the suite under a policy, and each replay that came out otherwise.

    Args:
        comparison: what was compared.
        decision: by the gate policy; None where the flip rule decides.
        flips: the case of every scenario by the flip rule, by id (`flip_case`).
        determinism: what running the replays again showed; None where it was not asked for.
        is_seed: a batch was gated against itself, where nothing can have got worse.
    """
    decided = {} if decision is None else {one.scenario_id: _decided_case(one, is_seed=is_seed) for one in decision.scenarios}
    by_flip = {scenario_id: _as_seed(case) for scenario_id, case in flips.items()} if is_seed else flips
    return [*{**by_flip, **decided}.values(), *_of_the_whole(comparison, decision, determinism, is_seed=is_seed)]


def flip_case(row: ScenarioChange) -> JUnitCase:
    """Return the case of one scenario by the flip rule; one that could not be compared is an error, one of a single batch is skipped."""
    case = JUnitCase(group=GROUP, name=with_visible_spaces(row.scenario_id))
    if row.change == "newly_failing":
        text = f"{run_words(row.baseline)} → {run_words(row.candidate)}; runs passed {counts_of_both(row)}"
        return case.with_changes(outcome="failed", text=text)
    if row.change == "not_compared":
        return case.with_changes(outcome="error", text=not_compared_reason(row))
    if row.change in ("dropped", "added"):
        return case.with_changes(outcome="skipped", text=f"{row.change}: only one batch has it, so it decides nothing")
    return case


def gate_annotations(cases: Sequence[JUnitCase], decision: GateDecision | None) -> Iterator[Annotation]:
    """Yield what a build shows beside a gate: an error for each case that failed or has no answer, a warning for each near miss."""
    for case in cases:
        if case.outcome in ("failed", "error"):
            yield Annotation("error", f"{case.group}: {case.name}", case.text)
    for decided in () if decision is None else decision.scenarios:
        name = with_visible_spaces(decided.scenario_id)
        if decided.reading == "listed_not_proven":
            yield Annotation("warning", f"{GROUP}: {name}", decided_words(decided))
        if decided.unstable_critical:
            text = "Its baseline both passed and failed: any-drop gating will fail it on noise; consider the standard tier."
            yield Annotation("warning", f"{GROUP}: {name}: unstable critical baseline", text)


def error_case(text: str) -> JUnitCase:
    """Return the case of a gate that has no answer."""
    return JUnitCase(group=GROUP, name=ANSWER, outcome="error", text=text)


def decided_words(decided: ScenarioDecision) -> str:
    """Return how a scenario reads, with its tier, both sides and the p-value where it decides, as one line."""
    p = "" if decided.p is None or decided.tier == "critical" else f" ({p_words(decided.p)})"
    return f"{decided.tier} {side_words(decided)}{p}: {reading_words(decided)}"


def _decided_case(decided: ScenarioDecision, *, is_seed: bool) -> JUnitCase:
    case = JUnitCase(group=GROUP, name=with_visible_spaces(decided.scenario_id))
    return case.with_changes(outcome="failed", text=decided_words(decided)) if decided.gates and not is_seed else case


def _as_seed(case: JUnitCase) -> JUnitCase:
    return case.with_changes(outcome="skipped") if case.outcome == "error" else case


def _of_the_whole(
    comparison: BatchComparison, decision: GateDecision | None, determinism: ReplayDeterminism | None, *, is_seed: bool
) -> Iterator[JUnitCase]:
    if decision is not None:
        suite = JUnitCase(group=GROUP, name="suite")
        yield suite.with_changes(outcome="failed", text=suite_words(decision)) if decision.suite_drop else suite
        if decision.history_error is not None:
            text = f"unverified: the history could not be read: {decision.history_error}"
            yield JUnitCase(group=GROUP, name="history", outcome="failed", text=text)
    elif comparison.verdict == "incomparable" and not is_seed:
        yield error_case(incomparable_words(comparison))
    if determinism is not None:
        yield from _determinism_cases(determinism)


def _determinism_cases(determinism: ReplayDeterminism) -> Iterator[JUnitCase]:
    for scenario_id in determinism.differing:
        text = "run again, the replay came out with another verdict or trajectory than the batch holds"
        yield JUnitCase(group=DETERMINISM_GROUP, name=with_visible_spaces(scenario_id), outcome="failed", text=text)
    if not determinism.differing:
        yield JUnitCase(group=DETERMINISM_GROUP, name=f"{plural(determinism.verified, 'replay')} run again")
