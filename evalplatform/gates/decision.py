"""The decision of a gate: single scenarios by their tier, then the suite as a whole.

A gate without critical scenarios in which nothing changed fails at most 1 time in 20, however many scenarios it has and whatever their
pass rates. Given all margins, Tarone's K is fixed, at most K scenarios can be flagged at all, and each is with a chance of at most 0.04/K:
together at most 0.04. The suite test decides alone only where none is flagged, and is then the stratified test over all of them: at most
0.01 more, scenarios being independent.
"""

from collections.abc import Iterable
from fractions import Fraction

from evalplatform.gates.records import (
    LISTED_LEVEL,
    SINGLE_LEVEL,
    SUITE_LEVEL,
    GateDecision,
    GateScenario,
    ReplayDeterminism,
    ScenarioDecision,
    ScenarioReading,
    UnverifiedReason,
)
from evalplatform.runs.records import GRADED_OUTCOMES
from evalplatform.stats.drop_power import is_verifiable
from evalplatform.stats.fisher_drop import fisher_drop_p, smallest_fisher_drop_p
from evalplatform.stats.pass_counts import is_drop
from evalplatform.stats.stratified_drop import is_stratified_drop, stratified_drop_p
from evalplatform.stats.tarone import tarone_k


def decide_gate(
    scenarios: Iterable[GateScenario],
    *,
    is_seed: bool = False,
    history_error: str | None = None,
    determinism: ReplayDeterminism | None = None,
) -> GateDecision:
    """Decide a gate.

    Args:
        scenarios: every scenario that both batches have; their order does not matter.
        is_seed: the batch is gated against itself, to become a branch's first baseline.
        history_error: why the history could not be read; None where it could, or was not asked for.
        determinism: what running the replays again showed; None where that was not asked for.

    Returns:
        The decision, its scenarios by id.
    """
    ordered = sorted(scenarios, key=lambda scenario: scenario.scenario_id)
    gaps = [_unverified_reason(scenario) for scenario in ordered]
    tested = [one for one, gap in zip(ordered, gaps, strict=True) if gap is None and one.rule == "run_sets" and one.tier == "standard"]
    k = tarone_k([smallest_fisher_drop_p(scenario.baseline, scenario.candidate) for scenario in tested], level=SINGLE_LEVEL)
    threshold = SINGLE_LEVEL / k
    decided = tuple(_decided(scenario, gap, threshold) for scenario, gap in zip(ordered, gaps, strict=True))
    spread = [(one.scenario.baseline, one.scenario.candidate) for one in decided if one.counts_for_k and one.reading != "drop_significant"]
    suite_p = stratified_drop_p(spread)
    return GateDecision(
        scenarios=decided,
        k=k,
        threshold=threshold,
        suite_scenarios=len(spread),
        suite_p=suite_p,
        suite_drop=is_stratified_drop(spread, level=SUITE_LEVEL, p=suite_p),
        is_seed=is_seed,
        history_error=history_error,
        determinism=determinism,
    )


def _decided(scenario: GateScenario, gap: UnverifiedReason | None, threshold: Fraction) -> ScenarioDecision:
    if gap is not None:
        return ScenarioDecision(scenario=scenario, reading="unverified", unverified_reason=gap)
    if scenario.rule == "flip":
        flipped = scenario.baseline_outcome == "passed" and scenario.candidate_outcome != "passed"
        return ScenarioDecision(scenario=scenario, reading="flipped" if flipped else "not_flipped")
    p = fisher_drop_p(scenario.baseline, scenario.candidate)
    is_critical = scenario.tier == "critical"
    return ScenarioDecision(
        scenario=scenario,
        reading=_critical_reading(scenario) if is_critical else _standard_reading(scenario, p, threshold),
        p=p,
        smallest_p=smallest_fisher_drop_p(scenario.baseline, scenario.candidate),
        unstable_critical=is_critical and 0 < scenario.baseline.passed < scenario.baseline.graded,
    )


def _unverified_reason(scenario: GateScenario) -> UnverifiedReason | None:
    """Return why nothing can be said of a scenario; by counts alone, so that no outcome can trip it, but for the flip rule.

    Under the flip rule a candidate that could not run where the baseline passed has flipped; any other side without a verdict says nothing.
    """
    if scenario.legs_differ:
        return "legs_differ"
    if scenario.rule == "flip":
        return _flip_gap(scenario)
    if not scenario.baseline.graded:
        return "baseline_ungraded"
    if not scenario.candidate.graded:
        return "candidate_ungraded"
    return None if is_verifiable(scenario.baseline.graded, scenario.candidate.graded, level=SINGLE_LEVEL) else "too_few_runs"


def _flip_gap(scenario: GateScenario) -> UnverifiedReason | None:
    if scenario.baseline_outcome not in GRADED_OUTCOMES:
        return "baseline_ungraded"
    if scenario.candidate_outcome in GRADED_OUTCOMES:
        return None
    is_flip = scenario.baseline_outcome == "passed" and scenario.candidate_outcome == "harness_error"
    return None if is_flip else "candidate_ungraded"


def _critical_reading(scenario: GateScenario) -> ScenarioReading:
    if is_drop(scenario.baseline, scenario.candidate):
        return "drop"
    return "pre_existing_failing" if scenario.candidate.passed < scenario.candidate.graded else "no_drop"


def _standard_reading(scenario: GateScenario, p: Fraction, threshold: Fraction) -> ScenarioReading:
    if p <= threshold:
        return "drop_significant"
    if p <= LISTED_LEVEL:
        return "listed_not_proven"
    if scenario.baseline.passed == 0:
        return "always_failing"
    return "not_significant" if is_drop(scenario.baseline, scenario.candidate) else "no_drop"
