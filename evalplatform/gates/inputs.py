"""From the rows of a batch comparison to what a gate decides by: tiers, rules, and whose runs stand for the baseline."""

from collections.abc import Mapping

from evalplatform.comparisons.batches.records import ComparedRun, RunSetCount, ScenarioChange
from evalplatform.gates.records import GateRule, GateScenario, HistoryPool
from evalplatform.runs.records import BatchHeader, Outcome, PlannedScenario
from evalplatform.stats.pass_counts import PassCount

NOTHING_DECLARED = PlannedScenario()
NO_RUNS = PassCount(passed=0, graded=0)


def has_gate_policy(baseline: BatchHeader, candidate: BatchHeader) -> bool:
    """Return whether run sets decide: either batch ran under a gate policy. So taking the policy out in one change does not undo it."""
    return baseline.policy is not None or candidate.policy is not None


def live_scenario_ids(candidate: BatchHeader) -> tuple[str, ...]:
    """Return the ids of the scenarios that a history can stand for: those that the candidate declares as live."""
    return tuple(sorted(scenario_id for scenario_id, planned in candidate.scenarios.items() if planned.leg == "live"))


def gate_scenario(
    row: ScenarioChange, baseline: BatchHeader, candidate: BatchHeader, *, pools: Mapping[str, HistoryPool]
) -> GateScenario | None:
    """Return what a gate is given of one row; None of a scenario that only one batch has.

    Replays take the flip rule, and so does one planned run a side. A pool with enough runs stands for the baseline of live run sets.

    Args:
        row: of the comparison.
        baseline, candidate: the two batches' headers.
        pools: the history of scenarios, by id; empty where no branch was asked for.
    """
    if row.baseline_runs is None or row.candidate_runs is None:
        return None
    before, after = (header.scenarios.get(row.scenario_id, NOTHING_DECLARED) for header in (baseline, candidate))
    pool = pools.get(row.scenario_id)
    is_pooled = pool is not None and pool.is_enough and after.leg == "live"
    rule = _rule(row, before, after, is_pooled=is_pooled)
    return GateScenario(
        scenario_id=row.scenario_id,
        baseline_tier=before.tier,
        candidate_tier=after.tier,
        rule=rule,
        baseline=pool.passes if pool is not None and is_pooled else _passes(row.baseline_runs),
        candidate=_passes(row.candidate_runs),
        baseline_outcome=_outcome(row.baseline) if rule == "flip" else None,
        candidate_outcome=_outcome(row.candidate) if rule == "flip" else None,
        pool=pool if is_pooled else None,
        legs_differ=before.leg != after.leg and not is_pooled,
    )


def _rule(row: ScenarioChange, before: PlannedScenario, after: PlannedScenario, *, is_pooled: bool) -> GateRule:
    if is_pooled:
        return "run_sets"
    if before.leg == after.leg == "replay":
        return "flip"
    made = [0 if runs is None else runs.runs for runs in (row.baseline_runs, row.candidate_runs)]
    one_a_side = before.planned_runs == after.planned_runs == 1 and max(made) <= 1
    return "flip" if one_a_side else "run_sets"


def _passes(runs: RunSetCount | None) -> PassCount:
    return NO_RUNS if runs is None else runs.passes


def _outcome(run: ComparedRun | None) -> Outcome | None:
    return None if run is None else run.outcome
