"""Two batches, compared: classes, verdicts, paths, violations, and what is never read as clean."""

from collections.abc import Sequence
from typing import Any

import pytest

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.kernel.errors import InputError
from evalplatform.runs.records import PlannedScenario
from evalplatform.runs.tolerance import PathTolerance
from tests.support.batch_runs import RunFacts, not_made, run, runs, side


def only_row(before: Sequence[RunFacts], after: Sequence[RunFacts], **planned: Any) -> ScenarioChange:
    rows: list[ScenarioChange] = []
    compare_batches(side({"s": before}, **planned), side({"s": after}, hours=1, **planned), on_row=rows.append)
    assert len(rows) == 1
    return rows[0]


def classes(comparison: BatchComparison) -> dict[str, str]:
    return {row.scenario_id: row.change for row in comparison.changes}


PASSED, FAILED, BROKE, STOPPED, NOT_RUN, UNGRADED = (
    run(outcome) for outcome in ("passed", "failed", "agent_error", "budget_stop", "harness_error", "ungraded")
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PASSED, PASSED, "unchanged"),
        (FAILED, FAILED, "unchanged"),
        (PASSED, FAILED, "newly_failing"),
        (PASSED, BROKE, "newly_failing"),
        (PASSED, STOPPED, "newly_failing"),
        (PASSED, NOT_RUN, "newly_failing"),
        (FAILED, PASSED, "newly_passing"),
        (BROKE, PASSED, "newly_passing"),
        (FAILED, STOPPED, "unchanged"),
        (FAILED, NOT_RUN, "not_compared"),
        (NOT_RUN, PASSED, "not_compared"),
        (NOT_RUN, FAILED, "not_compared"),
        (UNGRADED, PASSED, "not_compared"),
        (PASSED, UNGRADED, "not_compared"),
    ],
)
def test_a_scenarios_class_follows_from_the_two_outcomes(before: RunFacts, after: RunFacts, expected: str) -> None:
    assert only_row([before], [after]).change == expected


def test_what_a_partial_candidate_was_not_asked_for_is_counted_and_not_dropped() -> None:
    seven = {f"s{number}": [PASSED] for number in range(7)}
    rows: list[ScenarioChange] = []
    compared = compare_batches(side(seven), side({"s3": [PASSED]}, hours=1, set_scenarios=7), on_row=rows.append)
    assert (compared.verdict, compared.compared, compared.counts["dropped"], compared.not_run_in_candidate) == ("clean", 1, 0, 6)
    assert ([row.scenario_id for row in rows], compared.changes) == (["s3"], ())
    added = compare_batches(side({"s3": [PASSED]}), side({"s3": [PASSED], "new": [PASSED]}, hours=1, set_scenarios=7))
    assert (added.counts["added"], added.not_run_in_baseline, added.not_run_in_candidate) == (1, 0, 0)
    whole = compare_batches(side(seven), side({"s3": [PASSED]}, hours=1, set_scenarios=1))
    assert (whole.verdict, whole.counts["dropped"], whole.not_run_in_candidate) == ("changed", 6, 0)


def test_what_a_partial_baseline_was_not_asked_for_is_counted_and_not_added_and_its_breaches_are_not_lost() -> None:
    breaching, clean = run("passed", violations={"ssn": 2}), run("passed", violations={})
    candidate = side({"a": [clean], "b": [breaching, breaching], "c": [clean]}, hours=1)
    compared = compare_batches(side({"a": [clean]}, set_scenarios=3), candidate)
    assert (compared.verdict, compared.counts["added"], compared.not_run_in_baseline) == ("clean", 0, 2)
    assert (compared.uncompared_breaches, compared.candidate_coverage.scanned_runs) == (2, 4)


def test_a_lower_score_with_the_same_verdict_is_degraded_and_a_higher_one_is_not() -> None:
    lower = only_row([run("failed", score_points=75.0)], [run("failed", score_points=50.0)])
    assert (lower.change, lower.score_change_points) == ("degraded", -25.0)
    higher = only_row([run("failed", score_points=50.0)], [run("failed", score_points=75.0)])
    assert (higher.change, higher.score_change_points) == ("unchanged", 25.0)
    assert only_row([run("failed", score_points=50.0)], [FAILED]).score_change_points is None


def test_a_scenario_that_could_not_run_any_more_stays_newly_failing_and_is_counted_apart() -> None:
    before = {"flipped": [PASSED], "stopped": [PASSED], "same": [PASSED]}
    after = {"flipped": [FAILED], "stopped": [run("harness_error", reason="unreachable")], "same": [PASSED]}
    comparison = compare_batches(side(before), side(after))
    assert comparison.verdict == "regressed"
    assert comparison.would_fail
    assert (comparison.counts["newly_failing"], comparison.could_not_run, comparison.compared) == (2, 1, 3)
    stopped = comparison.changes[1]
    assert (stopped.could_not_run, stopped.candidate_gap) == (("candidate",), "could_not_run")
    assert stopped.candidate is not None
    assert (stopped.candidate.reason, stopped.candidate.verdict) == ("unreachable", None)


def test_the_most_recent_run_decides_and_ungraded_ones_are_passed_over() -> None:
    row = only_row([PASSED, FAILED, PASSED], [PASSED, FAILED, UNGRADED])
    assert row.change == "newly_failing"
    assert row.baseline is not None
    assert row.candidate is not None
    assert (row.baseline.order, row.candidate.order) == (2, 1)
    assert row.candidate_runs is not None
    assert (row.candidate_runs.passes.passed, row.candidate_runs.passes.graded, row.candidate_runs.ungraded) == (1, 2, 1)


def test_dropped_and_added_scenarios_make_a_change_that_fails_no_gate() -> None:
    comparison = compare_batches(side({"a": [PASSED], "b": [PASSED]}), side({"b": [PASSED], "c": [FAILED]}))
    assert classes(comparison) == {"a": "dropped", "c": "added"}
    assert (comparison.verdict, comparison.would_fail, comparison.compared) == ("changed", False, 1)
    dropped, added = comparison.changes
    assert dropped.baseline_runs is not None
    assert (dropped.candidate, dropped.candidate_runs, dropped.candidate_gap) == (None, None, None)
    assert added.candidate is not None
    assert (added.baseline, added.baseline_runs) == (None, None)


def test_improved_needs_a_newly_passing_scenario_and_nothing_else_that_changed() -> None:
    better = compare_batches(side({"a": [FAILED], "b": [PASSED]}), side({"a": [PASSED], "b": [PASSED]}))
    assert better.verdict == "improved"
    mixed = compare_batches(side({"a": [FAILED], "b": [PASSED]}), side({"a": [PASSED], "b": [run("passed", tools=("other",))]}))
    assert mixed.verdict == "changed"
    worse = compare_batches(side({"a": [FAILED], "b": [PASSED]}), side({"a": [PASSED], "b": [FAILED]}))
    assert worse.verdict == "regressed"


def test_rows_come_class_by_class_in_the_order_of_reports_and_by_id_within_one() -> None:
    before = {"z": [PASSED], "m": [PASSED], "a": [FAILED], "d": [PASSED], "k": [PASSED]}
    after = {"z": [FAILED], "m": [FAILED], "a": [PASSED], "d": [run("passed", tools=())], "n": [PASSED]}
    comparison = compare_batches(side(before), side(after))
    assert [row.scenario_id for row in comparison.changes] == ["m", "z", "a", "d", "k", "n"]


@pytest.mark.parametrize(
    ("before", "after", "gaps"),
    [
        ([NOT_RUN], [PASSED], ("could_not_run", None)),
        ([UNGRADED], [PASSED], ("ungraded", None)),
        ([FAILED], [UNGRADED, UNGRADED], (None, "ungraded")),
        ([FAILED], [], (None, "no_runs")),
        ([], [NOT_RUN], ("no_runs", "could_not_run")),
        ([FAILED], [not_made(), not_made()], (None, "no_runs")),
    ],
)
def test_what_could_not_be_compared_is_never_clean_and_says_which_side_lacks_what(
    before: list[RunFacts], after: list[RunFacts], gaps: tuple[str | None, str | None]
) -> None:
    comparison = compare_batches(side({"s": before, "same": [PASSED]}), side({"s": after, "same": [PASSED]}))
    assert (comparison.verdict, comparison.incomparable_reason) == ("incomparable", "partly_compared")
    assert comparison.counts["not_compared"] == 1
    assert (comparison.changes[0].baseline_gap, comparison.changes[0].candidate_gap) == gaps
    alone = compare_batches(side({"s": before}), side({"s": after}))
    assert (alone.verdict, alone.incomparable_reason) == ("incomparable", "nothing_compared")


def test_what_changed_for_the_better_is_no_answer_where_the_rest_could_not_be_compared() -> None:
    before = {"better": [FAILED], "b": [PASSED], "c": [PASSED]}
    partly = compare_batches(side(before), side({"better": [PASSED], "b": [UNGRADED], "c": [UNGRADED]}))
    assert (partly.verdict, partly.incomparable_reason, partly.would_fail) == ("incomparable", "partly_compared", False)
    assert (partly.counts["newly_passing"], partly.counts["not_compared"], partly.compared) == (1, 2, 1)
    assert [row.scenario_id for row in partly.changes] == ["better", "b", "c"]
    worse = compare_batches(side(before), side({"better": [PASSED], "b": [FAILED], "c": [UNGRADED]}))
    assert (worse.verdict, worse.would_fail) == ("regressed", True)


def test_two_batches_without_a_common_scenario_are_incomparable_and_name_what_they_have() -> None:
    comparison = compare_batches(side({"a": [PASSED]}), side({"b": [PASSED]}))
    assert (comparison.verdict, comparison.incomparable_reason) == ("incomparable", "nothing_compared")
    assert classes(comparison) == {"a": "dropped", "b": "added"}


def test_a_batch_without_a_scenario_is_incomparable() -> None:
    assert compare_batches(side({}), side({})).verdict == "incomparable"


# Paths


def with_tolerance(tolerance: PathTolerance | None) -> dict[str, PlannedScenario]:
    return {"s": PlannedScenario(tolerance=tolerance)}


@pytest.mark.parametrize(
    ("before", "after", "drifted"),
    [
        (None, None, True),
        ("any_order", None, True),
        ("any_order", "exact", True),
        ("any_order", "any_order", False),
        ("tool_set", "any_order", False),
        ("tool_set", "tool_set", False),
    ],
)
def test_a_reorder_is_judged_by_the_stricter_of_two_declarations(before: PathTolerance, after: PathTolerance, drifted: bool) -> None:
    comparison = compare_batches(
        side({"s": [run(tools=("a", "b"))]}, planned=with_tolerance(before)),
        side({"s": [run(tools=("b", "a"))]}, planned=with_tolerance(after)),
    )
    row = comparison.changes[0]
    assert (row.path_changed, row.path_drifted, row.within_tolerance) == (True, drifted, not drifted)
    assert row.change == ("path_drift" if drifted else "unchanged")
    assert (row.baseline_tolerance, row.candidate_tolerance) == (before, after)
    assert comparison.verdict == ("changed" if drifted else "clean")


def test_a_flipped_scenario_keeps_its_class_and_says_that_its_path_drifted_too() -> None:
    row = only_row([run("passed", tools=("a",))], [run("failed", tools=("b",))])
    assert (row.change, row.path_drifted) == ("newly_failing", True)


@pytest.mark.parametrize(
    "after", [NOT_RUN, run("failed", trajectory_digest=None), run("harness_error", trajectory_digest="sha256:" + "1" * 64)]
)
def test_without_a_trajectory_on_both_sides_nothing_is_said_of_the_path(after: RunFacts) -> None:
    row = only_row([run(tools=("a", "b"))], [after])
    assert (row.path_changed, row.path_drifted) == (None, False)


def test_an_unchanged_scenario_with_two_declarations_is_named_and_an_exact_one_declares_nothing_new() -> None:
    same = {"s": [PASSED]}
    differ = compare_batches(side(same, planned=with_tolerance("any_order")), side(same, planned=with_tolerance(None)))
    assert classes(differ) == {"s": "unchanged"}
    assert differ.changes[0].tolerance == "exact"
    spelled_out = compare_batches(side(same, planned=with_tolerance("exact")), side(same, planned=with_tolerance(None)))
    assert spelled_out.changes == ()


def test_differing_declarations_are_named_only_where_a_path_was_compared() -> None:
    comparison = compare_batches(
        side({"s": [run("failed", trajectory_digest=None)]}, planned=with_tolerance("any_order")),
        side({"s": [FAILED]}, planned=with_tolerance(None)),
    )
    assert comparison.changes == ()


def test_a_replay_compared_with_a_live_run_is_counted_and_its_row_says_which_is_which() -> None:
    replay = run("passed", leg="replay")
    comparison = compare_batches(side({"a": [replay], "b": [replay], "c": [PASSED]}), side({"a": [FAILED], "b": [replay], "c": [PASSED]}))
    assert comparison.differing_legs == 1
    (row,) = comparison.changes
    assert row.baseline is not None
    assert row.candidate is not None
    assert (row.baseline.leg, row.candidate.leg, row.legs_differ) == ("replay", "live", True)


# Violations


def test_violations_are_named_by_policy_with_the_first_step_and_never_change_the_class() -> None:
    before = run(violations={"no SSN": 3})
    after = run(violations=None) | {
        "violations": [{"policy": "no refund", "step": 9}, {"policy": "no refund", "step": 4}, {"policy": "no SSN", "step": 5}]
    }
    row = only_row([before], [after])
    assert row.change == "unchanged"
    assert row.new_violations is not None
    assert [(found.policy, found.step) for found in row.new_violations] == [("no refund", 4)]
    assert row.resolved_violations == ()
    mirrored = only_row([after], [before])
    assert mirrored.resolved_violations == row.new_violations


@pytest.mark.parametrize(("before", "after"), [({}, {"no SSN": 1}), ({"no SSN": 1}, {})], ids=["new", "resolved"])
def test_an_unchanged_scenario_whose_violations_changed_is_named_and_the_comparison_stays_clean(
    before: dict[str, int], after: dict[str, int]
) -> None:
    comparison = compare_batches(side({"s": [run(violations=before)]}), side({"s": [run(violations=after)]}))
    assert classes(comparison) == {"s": "unchanged"}
    assert comparison.verdict == "clean"


def test_a_side_that_was_not_scanned_gives_no_violations_rather_than_none_new() -> None:
    assert only_row([run(violations=None)], [run(violations={"no SSN": 1})]).new_violations is None
    assert only_row([run(violations={})], [run(violations={})]).new_violations == ()


def test_what_a_scan_found_before_it_was_given_up_is_new_and_nothing_is_called_resolved() -> None:
    part = run(violations={"no SSN": 4}, scan_given_up=True)
    clean, other = run(violations={}), run(violations={"no card": 1})
    comparison = compare_batches(side({"s": [other]}), side({"s": [part]}))
    (row,) = comparison.changes
    assert [found.policy for found in row.new_violations or ()] == ["no SSN"]
    assert row.resolved_violations == ()
    assert (comparison.candidate_coverage.scanned_runs, comparison.candidate_coverage.runs) == (0, 1)
    same = only_row([run(violations={"no SSN": 1})], [part])
    assert (same.new_violations, same.resolved_violations) == (None, None)
    assert only_row([part], [clean]).resolved_violations is None
    assert compare_batches(side({"s": [clean]}), side({"s": [part, clean]})).uncompared_breaches == 1


def test_a_candidate_that_could_not_run_has_resolved_no_violation() -> None:
    row = only_row([run(violations={"no SSN": 1})], [run("harness_error", violations={})])
    assert (row.new_violations, row.resolved_violations) == (None, None)


@pytest.mark.parametrize(
    "before", [[], [NOT_RUN], [UNGRADED], [run("failed", trajectory_digest=None)]], ids=["no run", "no steps", "ungraded", "failed at once"]
)
def test_what_a_candidate_breaches_is_new_where_the_baseline_has_no_steps_to_compare(before: list[RunFacts]) -> None:
    row = only_row(before, [run(violations={"no SSN": 2})])
    assert [found.policy for found in row.new_violations or ()] == ["no SSN"]
    assert row.resolved_violations == ()


def test_what_an_added_scenario_breaches_is_new_and_a_dropped_one_has_resolved_nothing() -> None:
    breaching = {"a": [run(violations={"no SSN": 2})]}
    (added,) = compare_batches(side({}), side(breaching)).changes
    assert [found.policy for found in added.new_violations or ()] == ["no SSN"]
    (dropped,) = compare_batches(side(breaching), side({})).changes
    assert (dropped.new_violations, dropped.resolved_violations) == (None, None)


def test_breaches_in_runs_of_the_candidate_that_were_not_compared_are_counted() -> None:
    clean, breaching = run(violations={}), run(violations={"no SSN": 2})
    set_of_three = [breaching, breaching, clean]
    ungraded = [run("ungraded", violations={"no SSN": 2})]
    comparison = compare_batches(side({"a": [clean], "b": [clean]}), side({"a": set_of_three, "b": ungraded, "c": [clean]}))
    assert comparison.uncompared_breaches == 3
    unscanned = compare_batches(side({"a": [PASSED]}), side({"a": [breaching]}))
    assert unscanned.uncompared_breaches == 1, "whether it is new is not known, and that there is one is"
    assert compare_batches(side({"a": set_of_three}), side({"a": [breaching]})).uncompared_breaches == 0


def test_runs_without_steps_are_in_neither_number_of_the_coverage() -> None:
    never = run("ungraded", trajectory_digest=None, violations={})
    comparison = compare_batches(side({"a": [run(violations={}), NOT_RUN]}), side({"a": [run(violations={}), never]}))
    for coverage in (comparison.baseline_coverage, comparison.candidate_coverage):
        assert (coverage.scanned_runs, coverage.runs) == (1, 1)
    assert comparison.baseline_coverage == comparison.baseline.coverage
    assert comparison.candidate_coverage == comparison.candidate.coverage


def test_the_coverage_counts_the_scanned_runs_of_each_side() -> None:
    comparison = compare_batches(
        side({"a": [run(violations={})], "b": [run(violations={}), PASSED]}), side({"a": [run(violations={})], "b": [run(violations={})]})
    )
    assert (comparison.baseline_coverage.scanned_runs, comparison.baseline_coverage.runs) == (2, 3)
    assert not comparison.baseline_coverage.is_whole
    assert comparison.candidate_coverage.is_whole


# Whole batches


def test_a_batch_with_itself_is_clean_with_its_scenarios_counted() -> None:
    batch = side({"a": [PASSED, FAILED], "b": runs(3, 1)})
    comparison = compare_batches(batch, batch)
    assert (comparison.verdict, comparison.compared, comparison.counts["unchanged"]) == ("clean", 2, 2)
    assert comparison.changes == ()


@pytest.mark.parametrize(
    ("before", "after", "reason"), [("expired", "whole", "baseline_expired"), ("whole", "expired", "candidate_expired")]
)
def test_an_expired_batch_is_not_compared_at_all(before: str, after: str, reason: str) -> None:
    comparison = compare_batches(side({"s": [PASSED]}, retention=before), side({"s": [FAILED]}, retention=after))
    assert (comparison.verdict, comparison.incomparable_reason, comparison.counts) == ("incomparable", reason, {})
    assert not comparison.would_fail


def test_a_compacted_batch_is_compared_by_the_runs_it_kept_and_misses_none() -> None:
    planned = {"s": PlannedScenario(planned_runs=4)}
    comparison = compare_batches(side({"s": [PASSED]}, planned=planned, retention="compacted"), side({"s": [FAILED]}, planned=planned))
    assert (comparison.verdict, comparison.baseline.retention) == ("regressed", "compacted")
    row = comparison.changes[0]
    assert row.baseline_runs is not None
    assert row.candidate_runs is not None
    assert (row.baseline_runs.missing, row.candidate_runs.missing) == (0, 3)


def test_a_pinned_run_that_a_compacted_batch_keeps_does_not_count_as_a_run_of_its_run_set() -> None:
    compacted = side({"s": [PASSED, PASSED, FAILED]}, retention="compacted")
    rows: list[ScenarioChange] = []
    compare_batches(compacted, side({"s": [FAILED]}), on_row=rows.append)
    (row,) = rows
    assert (row.baseline and row.baseline.order, row.baseline_runs and row.baseline_runs.passes.graded) == (2, 1)
    assert row.change == "unchanged"


@pytest.mark.parametrize("others", [[PASSED], [PASSED] * 3])
def test_a_whole_batch_of_which_not_all_runs_are_read_is_refused(others: list[RunFacts]) -> None:
    whole, changed = side({"a": [PASSED], "s": [PASSED, FAILED]}), side({"a": [PASSED], "s": others})
    read = BatchRuns(whole.batch, changed.runs)
    with pytest.raises(InputError, match=f"was recorded with 3 runs, and {1 + len(others)} were read: retention took runs out of it"):
        compare_batches(read, whole)


def test_batches_of_two_projects_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"'shop'.*'bank': only batches of one project"):
        compare_batches(side({"s": [PASSED]}), side({"s": [PASSED]}, project="bank"))
    with pytest.raises(InputError, match=r"'default/shop'.*'acme/shop'"):
        compare_batches(side({"s": [PASSED]}), side({"s": [PASSED]}, tenant="acme"))


def test_runs_out_of_order_are_refused_with_the_scenario() -> None:
    ordered = side({"a": runs(2), "b": runs(1)})
    shuffled = BatchRuns(ordered.batch, lambda: iter([*ordered.runs()][::-1]))
    with pytest.raises(InputError, match="run 1 of 'a' comes after run 0 of 'b'"):
        compare_batches(ordered, shuffled)
    twice = BatchRuns(ordered.batch, lambda: iter([run for run in ordered.runs() for _ in range(2)]))
    with pytest.raises(InputError, match="run 0 of 'a' comes after run 0 of 'a'"):
        compare_batches(twice, ordered)


def test_ids_are_merged_by_code_points_and_not_by_a_languages_alphabet() -> None:
    names = ["Z", "a", "z", "é", "\U0001f600"]
    batch = side({name: [PASSED] for name in names})
    rows: list[ScenarioChange] = []
    compare_batches(batch, batch, on_row=rows.append)
    assert [row.scenario_id for row in rows] == names


def test_runs_of_a_scenario_that_no_header_declares_are_compared_too() -> None:
    comparison = compare_batches(side({"s": [PASSED]}, planned={}), side({"s": [FAILED]}, planned={}))
    assert classes(comparison) == {"s": "newly_failing"}
