"""Unstable scenarios: what counts as instability, on which evidence, and what is left out and counted."""

import json
import random
from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.drift.instability import MOST_BATCHES, InstabilityReading, batch_window, unstable_scenarios
from evalplatform.runs.bundle import BundleSummary
from tests.support.recorded_batches import NOW, MemoryBatches, recorded


def reading_of(*summaries: BundleSummary, **retention: Any) -> InstabilityReading:
    stored = MemoryBatches(*summaries, **retention)
    return unstable_scenarios(batch_window(stored.batches, now=NOW), runs_of=stored.runs)


def names(reading: InstabilityReading) -> list[str]:
    return [one.scenario_id for one in reading.unstable]


@pytest.mark.parametrize(
    ("first", "second", "unstable"),
    [
        ("P", "F", True),
        ("PP", "PF", True),
        ("PF", "FF", True),
        ("PF", "FP", False),  # a mix within a batch is that run set's own k of n
        ("PPF", "PF", False),
        ("P", "PP", False),
        ("F", "FFF", False),
        ("P", "A", True),
        ("P", "B", True),
        ("P", "H", False),
        ("P", "U", False),
        ("PH", "P", False),
        ("FU", "F", False),
    ],
)
def test_separate_batches_of_one_commit_disagree_or_not(first: str, second: str, unstable: bool) -> None:
    reading = reading_of(recorded({"refund": first}, days_ago=1), recorded({"refund": second}))
    assert names(reading) == (["refund"] if unstable else [])


def test_a_batch_that_was_gone_on_with_is_no_second_batch_of_its_commit() -> None:
    stopped = recorded({"refund": "PU"}, truncated_reason="the spend cap of $1 was reached")
    reading = reading_of(stopped, recorded({"refund": "PF"}))
    assert (reading.unstable, reading.repeated_commits, reading.batches_read, reading.continued) == ((), 0, 1, 1)
    beside = reading_of(stopped, recorded({"refund": "PF"}), recorded({"refund": "PP"}, days_ago=1))
    assert [evidence.outcome for evidence in beside.unstable[0].batches] == ["mixed", "passed"]


def test_the_same_scenario_on_two_commits_is_no_instability() -> None:
    reading = reading_of(recorded({"refund": "P"}, commit="aaa"), recorded({"refund": "F"}, commit="bbb"))
    assert (reading.unstable, reading.repeated_commits, reading.has_evidence) == ((), 0, False)


def test_a_commit_that_ran_twice_with_other_scenarios_is_no_evidence() -> None:
    reading = reading_of(recorded({"refund": "P"}, days_ago=1), recorded({"rebook": "F"}))
    assert (reading.repeated_commits, reading.scenarios_compared, reading.has_evidence) == (1, 0, False)


def test_replayed_runs_never_count() -> None:
    live, replay = recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}, leg="replay")
    reading = reading_of(live, replay)
    assert (reading.unstable, reading.repeated_commits) == ((), 0)


def test_passes_are_summed_over_the_batches_of_the_commits_that_disagree() -> None:
    reading = reading_of(
        recorded({"refund": "PP"}, commit="aaa", days_ago=4),
        recorded({"refund": "PF"}, commit="aaa", days_ago=3),
        recorded({"refund": "FFF"}, commit="bbb", days_ago=2),
        recorded({"refund": "FFF"}, commit="bbb", days_ago=1),
        recorded({"refund": "P"}, commit="ccc"),
    )
    (refund,) = reading.unstable
    assert (refund.passes.passed, refund.passes.graded, refund.failed_runs) == (3, 4, 1)
    assert [(one.outcome, one.commit) for one in refund.batches] == [("mixed", "aaa"), ("passed", "aaa")]  # newest first
    assert (reading.repeated_commits, reading.scenarios_compared) == (2, 1)


def test_most_failed_runs_come_first_and_then_names() -> None:
    scenarios = {"b": ("P", "F"), "a": ("P", "F"), "c": ("PPP", "FFF"), "steady": ("P", "P")}
    reading = reading_of(*(recorded({name: sides[number] for name, sides in scenarios.items()}, days_ago=number) for number in (0, 1)))
    assert names(reading) == ["c", "a", "b"]
    assert reading.scenarios_compared == 4


def test_what_else_differs_between_the_batches_of_a_commit_is_named() -> None:
    reading = reading_of(recorded({"refund": "P"}, days_ago=1, model="small"), recorded({"refund": "F"}, model="large"))
    assert reading.unstable[0].differs_in == ("model",)
    assert reading_of(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"})).unstable[0].differs_in == ()


def test_batches_before_the_window_are_not_read_and_its_first_moment_is() -> None:
    at_the_edge, newest = recorded({"refund": "P"}, days_ago=30), recorded({"refund": "F"})
    assert names(reading_of(at_the_edge, newest)) == ["refund"]
    reading = reading_of(recorded({"refund": "P"}, days_ago=30.01), newest)
    assert (reading.batches_read, reading.unstable) == (1, ())
    assert reading.until - reading.since == timedelta(days=30)


@pytest.mark.parametrize("retention", ["compacted", "expired"])
def test_batches_that_no_longer_hold_whole_run_sets_are_left_out_and_counted(retention: str) -> None:
    reading = reading_of(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}), retention=retention)
    counts = {"compacted": reading.compacted, "expired": reading.expired}
    assert (reading.batches_read, reading.unstable, counts.pop(retention), *counts.values()) == (0, (), 2, 0)


def test_only_the_newest_batches_are_read_where_there_are_too_many() -> None:
    flips = [recorded({"refund": "F" if number == MOST_BATCHES else "P"}, days_ago=number / 100) for number in range(MOST_BATCHES + 3)]
    reading = reading_of(*flips)
    assert (reading.batches_read, reading.beyond_limit, reading.unstable) == (MOST_BATCHES, 3, ())
    assert names(reading_of(*flips[1:])) == ["refund"]  # the one that failed is among the newest now


def test_batches_without_a_commit_are_set_beside_no_other() -> None:
    reading = reading_of(recorded({"refund": "P"}, days_ago=1, commit=None), recorded({"refund": "F"}, commit=None))
    assert (reading.without_commit, reading.unstable, reading.has_evidence) == (2, (), False)


def test_runs_are_read_only_of_commits_with_several_batches() -> None:
    once, first, second = (
        recorded({"refund": "P"}, commit="aaa"),
        recorded({"refund": "P"}, commit="bbb", days_ago=1),
        recorded({"refund": "P"}, commit="bbb", days_ago=2),
    )
    stored = MemoryBatches(once, first, second)
    unstable_scenarios(batch_window(stored.batches, now=NOW), runs_of=stored.runs)
    assert sorted(stored.read) == sorted([first.batch.id, second.batch.id])


BATCHES = st.lists(
    st.tuples(
        st.sampled_from(["aaa", "bbb", None]),
        st.dictionaries(st.sampled_from(["s1", "s2", "s3"]), st.text("PFABHU", min_size=1, max_size=4), min_size=1),
    ),
    max_size=7,
)


@given(BATCHES, st.randoms(use_true_random=False))
def test_the_reading_is_what_a_plain_count_gives_and_no_order_of_batches_changes_it(
    drawn: Sequence[tuple[str | None, dict[str, str]]], chance: random.Random
) -> None:
    summaries = [recorded(scenarios, commit=commit, days_ago=number) for number, (commit, scenarios) in enumerate(drawn)]
    reading = reading_of(*summaries)
    chance.shuffle(summaries)
    assert reading_of(*summaries) == reading

    rates: dict[tuple[str, str], list[str]] = {}
    for commit, scenarios in drawn:
        for name, letters in scenarios.items():
            graded = [letter == "P" for letter in letters if letter not in "HU"]
            if commit is not None and graded:
                share = Fraction(sum(graded), len(graded))
                rates.setdefault((name, commit), []).append("all" if share == 1 else "none" if share == 0 else "some")
    by_name = groupby(sorted(name for (name, _), outcomes in rates.items() if len(set(outcomes)) > 1))
    assert sorted(names(reading)) == [name for name, _ in by_name]
    assert reading.scenarios_compared == len({name for (name, _), outcomes in rates.items() if len(outcomes) > 1})


CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "unstable"], ids=lambda case: case["id"])
def test_the_worked_case_of_unstable_scenarios(case: dict[str, Any]) -> None:
    summaries = [
        recorded(
            {name: "P" * passed + "F" * (graded - passed) for name, (passed, graded) in batch["scenarios"].items()},
            days_ago=number,
            commit=batch["commit"],
        )
        for number, batch in enumerate(case["input"]["batches"])
    ]
    reading = reading_of(*summaries)
    assert bool(reading.repeated_commits) is case["expect"]["enough"]
    assert [[one.scenario_id, one.passes.passed, one.passes.graded] for one in reading.unstable] == case["expect"]["rows"]
