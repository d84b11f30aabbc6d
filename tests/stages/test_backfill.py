"""Which partitions a backfill chooses, by their states."""

from typing import Literal

import pytest

from evalplatform.stages.backfill import chosen_work
from evalplatform.stages.staleness import PartitionState, State

SCORED = ("judged_scores", "arm_summary")


def _state(
    asset: str, state: State, *because: str, cell: str | None = None, judge: str | None = None, compared: tuple[str, ...] = ()
) -> PartitionState:
    partition = "/".join(part for part in (cell, judge) if part) or "all"
    return PartitionState(asset=asset, partition=partition, cell=cell, judge=judge, state=state, because=because, compared=compared)


def _suite(answers: State, scores: State, *because: str, cell: str = "one") -> list[PartitionState]:
    return [
        _state("arm_answers", answers, cell=cell),
        *(_state(asset, scores, *because, cell=cell, judge="strict") for asset in SCORED),
        *(_state(asset, "fresh", cell=cell, judge="facts") for asset in SCORED),
    ]


def test_without_a_judge_all_that_is_not_fresh_is_made() -> None:
    states = [_state("corpus", "stale", "arm[000]"), *_suite("stale", "stale", "arm_answers")]
    work = chosen_work("kettle", states)
    assert [state.asset for state in work.partitions] == ["corpus", "arm_answers", *SCORED]
    assert work.fresh == 2
    assert work.assets_of() == ("corpus",)
    assert work.cells() == ("one",)
    assert work.judges == ("strict",)


def test_a_judge_is_given_its_own_partitions_alone() -> None:
    work = chosen_work("kettle", [_state("corpus", "stale"), *_suite("fresh", "missing")], judge="strict")
    assert {(state.cell, state.judge) for state in work.partitions} == {("one", "strict")}
    assert work.assets_of(cell="one", judge="strict") == SCORED


@pytest.mark.parametrize(("answers", "reason"), [("missing", "it has no answers yet"), ("stale", "its answers are stale")])
def test_a_judge_asks_for_no_answers(answers: Literal["missing", "stale"], reason: str) -> None:
    work = chosen_work("kettle", [*_suite(answers, "missing"), *_suite("fresh", "missing", cell="two")], judge="strict")
    assert [(left.cell, left.reason) for left in work.left_out] == [("one", reason)]
    assert work.cells(judge="strict") == ("two",)


def test_scores_that_only_wait_for_incomplete_answers_are_nothing_for_a_judge_to_do() -> None:
    assert chosen_work("kettle", _suite("incomplete", "incomplete", "arm_answers"), judge="strict").partitions == ()
    assert len(chosen_work("kettle", _suite("incomplete", "incomplete"), judge="strict").partitions) == 2


def test_one_cell_alone_is_made_from_sources_that_are_made_too() -> None:
    states = [_state("corpus", "missing"), *_suite("missing", "missing"), *_suite("missing", "missing", cell="two")]
    work = chosen_work("kettle", states, cell="two")
    assert {state.cell for state in work.partitions} == {None, "two"}


def _comparisons(state: State, *because: str) -> list[PartitionState]:
    """A plugin delta of the cell `two` from `one`, and the rollup of both, under the judge `strict`."""
    return [
        _state("plugin_deltas", state, *because, cell="two", judge="strict", compared=("one", "two")),
        _state("matrix_rollup", state, *because, judge="strict", compared=("one", "two")),
    ]


def test_what_compares_cells_is_made_after_the_scores_and_is_no_work_of_one_cell() -> None:
    states = [*_suite("fresh", "missing"), *_suite("fresh", "fresh", cell="two"), *_comparisons("stale", "arm_summary:one")]
    work = chosen_work("kettle", states)
    assert [(state.asset, state.compared) for state in work.comparisons("strict")] == [
        ("plugin_deltas", ("one", "two")),
        ("matrix_rollup", ("one", "two")),
    ]
    assert work.cells(judge="strict") == ("one",)
    assert work.assets_of(cell="two", judge="strict") == ()
    assert work.assets_of() == ()
    assert work.judges == ("strict",)
    assert chosen_work("kettle", states, cell="one").comparisons("strict") == ()


def test_a_judge_compares_what_is_not_left_out_and_only_where_that_is_news() -> None:
    cells = [*_suite("missing", "missing"), *_suite("fresh", "missing", cell="two")]
    work = chosen_work("kettle", [*cells, *_comparisons("missing")], judge="strict")
    assert [state.asset for state in work.comparisons("strict")] == ["matrix_rollup"]  # the delta's other side has no answers
    known = chosen_work("kettle", [*cells, *_comparisons("stale", "arm_summary:one")], judge="strict")
    assert known.comparisons("strict") == ()  # the cell that is left out is named in the rollup already
    news = chosen_work("kettle", [*cells, *_comparisons("stale", "arm_summary:one", "arm_summary:two")], judge="strict")
    assert [state.asset for state in news.comparisons("strict")] == ["matrix_rollup"]
