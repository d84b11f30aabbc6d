"""Run sets of two compared batches: the worked numbers, what is tested at all, and where they say another thing than one run a side."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, RunSetCount, RunSetReport, ScenarioChange
from evalplatform.comparisons.batches.run_sets import RunSetTally, run_set_drop
from evalplatform.runs.records import PlannedScenario
from evalplatform.stats.pass_counts import PassCount
from tests.support.batch_runs import RunFacts, not_made, run, runs, side

CASES = json.loads((Path(__file__).parents[2] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


def cases(kind: str) -> list[Any]:
    return [pytest.param(case["input"], case["expect"], id=case["id"]) for case in CASES if case["kind"] == kind]


def count(passed: int, graded: int, **apart: int) -> RunSetCount:
    return RunSetCount(passes=PassCount(passed=passed, graded=graded), **apart)


def report(comparison: BatchComparison) -> RunSetReport:
    assert comparison.run_sets is not None
    return comparison.run_sets


@pytest.mark.parametrize(("given_", "expected"), cases("boschloo"))
def test_a_drop_has_the_worked_p_value_and_reading(given_: dict[str, int], expected: dict[str, Any]) -> None:
    drop = run_set_drop("s", count(given_["k1"], given_["n1"]), count(given_["k2"], given_["n2"]))
    assert drop.p == pytest.approx(expected["p"], rel=1e-6)
    assert (drop.reading == "drop") is expected["flagged"]


@pytest.mark.parametrize(("given_", "expected"), cases("run_set_report"))
def test_a_report_has_the_worked_flags_and_chances(given_: dict[str, Any], expected: dict[str, Any]) -> None:
    tally = RunSetTally()
    for place, (k1, n1, k2, n2) in enumerate(given_["tables"]):
        tally.add(f"s{place}", count(k1, n1), count(k2, n2))
    made = tally.report()
    assert made is not None
    assert made.flagged == expected["flagged"]
    assert made.expected_flags == pytest.approx(expected["expected"], rel=1e-12)
    assert made.chance_of_as_many == pytest.approx(expected["tail"], rel=1e-12)


def test_the_example_of_a_collapsed_and_a_halved_scenario_beside_a_replayed_one() -> None:
    before = {"collapse": runs(4), "half": runs(4), "recorded": [run("passed", leg="replay")]}
    after = {"collapse": runs(0, 4), "half": runs(2, 2), "recorded": [run("passed", leg="replay")]}
    made = report(compare_batches(side(before), side(after)))
    assert (made.baseline_runs, made.candidate_runs) == (4, 4)
    assert [(drop.scenario_id, round(drop.p, 3), drop.reading) for drop in made.drops] == [
        ("collapse", 0.004, "drop"),
        ("half", 0.089, "not_significant"),
    ]
    assert (made.flagged, round(made.expected_flags, 1), round(made.chance_of_as_many, 2)) == (1, 0.0, 0.01)
    assert [(each.baseline_graded, each.candidate_graded, each.most_passes, each.scenarios) for each in made.smallest_drops] == [
        (4, 4, 1, 2)
    ]
    assert (made.tested, made.not_tested) == (2, 1)


def test_one_run_against_four_can_never_be_flagged_and_says_so() -> None:
    made = report(compare_batches(side({"s": runs(1)}), side({"s": runs(0, 4)})))
    assert [(drop.reading, round(drop.p, 4)) for drop in made.drops] == [("cannot_flag", 0.0819)]
    assert made.smallest_drops[0].most_passes is None
    assert (made.flagged, made.chance_of_as_many) == (0, 1.0)


def test_one_graded_run_a_side_is_not_tested_and_its_drop_is_listed_all_the_same() -> None:
    before = {"s": [run("harness_error"), run("passed")], "t": runs(2)}
    made = report(compare_batches(side(before), side({"s": [run("failed")], "t": runs(2)})))
    assert (made.tested, made.not_tested) == (1, 1)
    assert [(drop.scenario_id, drop.reading) for drop in made.drops] == [("s", "cannot_flag")]


def test_without_a_second_run_of_any_scenario_there_is_no_report() -> None:
    assert compare_batches(side({"s": runs(1)}), side({"s": runs(0, 1)})).run_sets is None


def test_a_scenario_that_one_batch_alone_has_is_in_no_run_set() -> None:
    made = report(compare_batches(side({"s": runs(2), "gone": runs(9)}), side({"s": runs(2), "new": runs(0, 9)})))
    assert (made.baseline_runs, made.candidate_runs, made.tested, made.drops) == (2, 2, 1, ())


def test_what_is_not_graded_is_left_out_and_counted_and_failures_of_the_agent_are_failures() -> None:
    planned = {"s": PlannedScenario(planned_runs=6), "none": PlannedScenario(planned_runs=2)}
    after = [run("agent_error"), run("budget_stop"), run("failed"), run("failed"), run("harness_error")]
    comparison = compare_batches(
        side({"s": runs(6), "none": runs(2)}, planned=planned),
        side({"s": after, "none": [run("harness_error"), run("ungraded")]}, planned=planned),
    )
    made = report(comparison)
    assert (made.could_not_run, made.missing, made.ungraded_sides) == (2, 1, ("none",))
    drop = made.drops[0]
    assert (drop.candidate.passes, drop.candidate.missing) == (PassCount(passed=0, graded=4), 1)
    assert (drop.reading, drop.candidate_budget_stops) == ("drop", 1)


def test_runs_that_were_never_made_are_missing_and_count_for_no_run_set() -> None:
    planned = {"s": PlannedScenario(planned_runs=3)}
    comparison = compare_batches(
        side({"s": [*runs(2), not_made()]}, planned=planned), side({"s": [*runs(1), not_made(), not_made()]}, planned=planned)
    )
    made = report(comparison)
    assert (made.baseline_runs, made.candidate_runs, made.missing) == (2, 1, 3)
    single = side({"s": [*runs(1), not_made(), not_made()]}, planned=planned)
    assert compare_batches(single, single).run_sets is None


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (runs(4), [*runs(3), run("failed")], ("s",)),
        (runs(2), [*runs(1), run("failed")], ()),  # not even 2/2 against 0/2 is flagged
        ([run("failed"), run("failed"), run("failed"), run("passed")], [*runs(0, 4)], ()),  # nor 1/4 against 0/4
        (runs(4), [*runs(3), run("harness_error")], ()),  # no verdict that runs could differ from
    ],
)
def test_only_a_drop_that_could_have_been_flagged_disagrees_with_the_verdict(
    before: list[RunFacts], after: list[RunFacts], named: tuple[str, ...]
) -> None:
    comparison = compare_batches(side({"s": before}), side({"s": after}))
    assert comparison.counts["newly_failing"] == 1
    assert comparison.run_set_disagreement.failing_not_flagged == named


def test_a_replayed_scenario_is_one_run_and_misses_none_of_those_asked_for() -> None:
    planned = {"s": PlannedScenario(planned_runs=4, leg="replay"), "live": PlannedScenario(planned_runs=4)}
    batch = side({"s": [run("passed", leg="replay")], "live": runs(3)}, planned=planned)
    rows: list[ScenarioChange] = []
    compare_batches(batch, batch, on_row=rows.append)
    assert {row.scenario_id: row.baseline_runs and row.baseline_runs.missing for row in rows} == {"s": 0, "live": 1}
    assert report(compare_batches(batch, batch)).missing == 2  # one a side


def test_a_drop_that_no_compared_run_shows_is_named_and_is_a_disagreement() -> None:
    comparison = compare_batches(side({"s": runs(6)}), side({"s": [run("failed")] * 5 + [run("passed")]}))
    assert comparison.verdict == "clean"
    assert [row.scenario_id for row in comparison.changes] == ["s"]
    assert comparison.run_set_disagreement.flagged_not_failing == ("s",)
    assert comparison.run_set_disagreement.failing_not_flagged == ()


def test_a_flip_that_no_run_set_confirms_is_a_disagreement_and_an_untested_one_is_none() -> None:
    comparison = compare_batches(
        side({"flaky": runs(4), "replayed": runs(1)}), side({"flaky": [run("passed")] * 3 + [run("failed")], "replayed": runs(0, 1)})
    )
    assert comparison.counts["newly_failing"] == 2
    assert comparison.run_set_disagreement.failing_not_flagged == ("flaky",)


def test_a_confirmed_flip_is_no_disagreement() -> None:
    disagreement = compare_batches(side({"s": runs(4)}), side({"s": runs(0, 4)})).run_set_disagreement
    assert (disagreement.flagged_not_failing, disagreement.failing_not_flagged) == ((), ())


def test_every_tested_scenario_counts_among_the_flags_that_chance_would_give() -> None:
    """A scenario that passes 4 of 8 is flagged by chance in 1 deal of 70 though it shows no drop; one that always passes in none."""
    many = {f"s{place:03}": runs(2, 2) for place in range(50)} | {f"t{place:03}": runs(4) for place in range(50)}
    made = report(compare_batches(side(many), side(many)))
    assert made.expected_flags == pytest.approx(50 / 70, rel=1e-12)
    assert (made.tested, made.flagged, made.drops) == (100, 0, ())
