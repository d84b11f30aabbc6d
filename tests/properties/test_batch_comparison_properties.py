"""What holds for any two batches."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.runs.records import PlannedScenario
from evalplatform.runs.tolerance import STRICTEST_FIRST, PathTolerance
from tests.support.batch_runs import side
from tests.support.batch_strategies import GRADED, TOLERANCES, plans, scenarios

Scenarios = dict[str, list[dict[str, Any]]]
Plans = dict[str, PlannedScenario]

MIRRORED = {"newly_failing": "newly_passing", "newly_passing": "newly_failing", "dropped": "added", "added": "dropped"}


def compared(before: Scenarios, after: Scenarios, *plans: Plans) -> tuple[BatchComparison, list[ScenarioChange]]:
    rows: list[ScenarioChange] = []
    declared: list[Plans | None] = list(plans) or [None, None]
    comparison = compare_batches(side(before, planned=declared[0]), side(after, planned=declared[1]), on_row=rows.append)
    return comparison, rows


@given(scenarios(), scenarios(), plans(), plans(), st.randoms(use_true_random=False))
def test_the_order_in_which_scenarios_are_written_changes_nothing(
    before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans, random: Any
) -> None:
    def shuffled(named: dict[str, Any]) -> dict[str, Any]:
        return dict(random.sample(sorted(named.items()), len(named)))

    straight = compared(before, after, plan_before, plan_after)
    assert compared(shuffled(before), shuffled(after), shuffled(plan_before), shuffled(plan_after)) == straight


@given(scenarios(), scenarios(), plans(), plans())
def test_every_scenario_of_either_side_has_one_row_and_one_class(
    before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans
) -> None:
    comparison, rows = compared(before, after, plan_before, plan_after)
    made = {name for batch in (before, after) for name, runs in batch.items() if runs}
    assert [row.scenario_id for row in rows] == sorted(made | plan_before.keys() | plan_after.keys())
    counted = Counter(row.change for row in rows)
    assert {change: number for change, number in comparison.counts.items() if number} == counted
    named = {row.scenario_id for row in comparison.changes}
    assert {row.scenario_id for row in rows if row.change != "unchanged"} <= named
    assert all(row in rows for row in comparison.changes)


@given(scenarios(), scenarios(), st.sampled_from(["passed", "failed"]))
def test_an_earlier_run_never_decides(before: Scenarios, after: Scenarios, outcome: str) -> None:
    """One more run before all others moves the run set's count, and no class."""
    earlier = {name: [{"outcome": outcome}, *runs] if runs else runs for name, runs in after.items()}
    judged = {name for name, runs in after.items() if any(run["outcome"] != "ungraded" for run in runs)}
    straight = {row.scenario_id: row.change for row in compared(before, after)[1]}
    inserted = {row.scenario_id: row.change for row in compared(before, earlier)[1]}
    unheard = after.keys() - judged
    assert {name: change for name, change in inserted.items() if name not in unheard} == {
        name: change for name, change in straight.items() if name not in unheard
    }


@given(scenarios(), scenarios(), TOLERANCES, TOLERANCES)
def test_loosening_a_tolerance_never_adds_drift(
    before: Scenarios, after: Scenarios, one: PathTolerance | None, other: PathTolerance | None
) -> None:
    stricter, looser = sorted((one or "exact", other or "exact"), key=STRICTEST_FIRST.index)
    drifted = []
    for tolerance in (stricter, looser):
        plan = {name: PlannedScenario(tolerance=tolerance) for name in before.keys() | after.keys()}
        rows = compared(before, after, plan, plan)[1]
        drifted.append({row.scenario_id for row in rows if row.path_drifted})
    assert drifted[1] <= drifted[0]


@given(scenarios(outcomes=GRADED, min_runs=1), scenarios(outcomes=GRADED, min_runs=1), plans(), plans())
def test_swapping_the_sides_mirrors_every_row(before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans) -> None:
    plan_before, plan_after = (
        {name: plan[name] for name in plan if name in made} for plan, made in ((plan_before, before), (plan_after, after))
    )
    there = {row.scenario_id: row for row in compared(before, after, plan_before, plan_after)[1]}
    back = {row.scenario_id: row for row in compared(after, before, plan_after, plan_before)[1]}
    assert there.keys() == back.keys()
    for name, row in there.items():
        mirror = back[name]
        assert (row.baseline, row.baseline_runs, row.baseline_tolerance) == (
            mirror.candidate,
            mirror.candidate_runs,
            mirror.candidate_tolerance,
        )
        assert (row.path_changed, row.path_drifted, row.tolerance) == (mirror.path_changed, mirror.path_drifted, mirror.tolerance)
        if row.baseline is not None and row.candidate is not None:  # what an added scenario breaches is new, a dropped one resolves nothing
            assert (row.new_violations, row.resolved_violations) == (mirror.resolved_violations, mirror.new_violations)
        assert mirror.change == MIRRORED.get(row.change, mirror.change)
        assert row.change != "degraded" or mirror.change in ("path_drift", "unchanged")
        if row.score_change_points:
            assert mirror.score_change_points == -row.score_change_points


@given(scenarios(min_runs=1), plans())
def test_a_batch_with_itself_has_no_change_and_is_clean_where_all_could_be_compared(batch: Scenarios, plan: Plans) -> None:
    comparison, rows = compared(batch, batch, plan, plan)
    assert {row.change for row in rows} <= {"unchanged", "not_compared"}
    assert not any(row.path_changed or row.score_change_points or row.new_violations or row.resolved_violations for row in rows)
    assert comparison.verdict in ("clean", "incomparable")
    assert (comparison.verdict == "clean") == (bool(rows) and all(row.change == "unchanged" for row in rows))
    assert comparison.run_sets is None or comparison.run_sets.drops == ()


@given(scenarios(), scenarios())
def test_only_a_newly_failing_scenario_fails_a_gate_and_what_was_not_compared_is_never_clean(before: Scenarios, after: Scenarios) -> None:
    comparison, rows = compared(before, after)
    assert comparison.would_fail == any(row.change == "newly_failing" for row in rows)
    if any(row.change == "not_compared" for row in rows):
        assert comparison.verdict in ("regressed", "incomparable")
    assert all(row.baseline_gap or row.candidate_gap for row in rows if row.change == "not_compared")


@given(scenarios(), scenarios(), plans())
def test_the_coverage_of_what_was_read_is_the_batchs_own(before: Scenarios, after: Scenarios, plan: Plans) -> None:
    comparison = compared(before, after, plan, plan)[0]
    assert comparison.baseline_coverage == comparison.baseline.coverage
    assert comparison.candidate_coverage == comparison.candidate.coverage


@given(scenarios(), scenarios())
def test_a_comparison_survives_json(before: Scenarios, after: Scenarios) -> None:
    comparison = compared(before, after)[0]
    assert BatchComparison.model_validate_json(comparison.model_dump_json()) == comparison
