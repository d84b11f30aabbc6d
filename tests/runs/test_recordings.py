"""Batches of one recording: a truncated bundle that was stored, gone on with and stored again counts once."""

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.runs.recordings import continued_as, is_same_recording, most_complete
from evalplatform.runs.records import Batch
from tests.support.recorded_batches import recorded


def stopped(letters: str, *, days_ago: float = 0, **header: Any) -> Batch:
    return recorded({"refund": letters}, days_ago=days_ago, truncated_reason="the spend cap of $1 was reached", **header).batch


def whole(letters: str, *, days_ago: float = 0, **header: Any) -> Batch:
    return recorded({"refund": letters}, days_ago=days_ago, **header).batch


ONE_RUN, TWO_RUNS, ALL_RUNS = stopped("PUU"), stopped("PFU"), whole("PFF")
NEWER, OLDER = whole("PPP", days_ago=-1), whole("PPP", days_ago=1)


def test_of_one_recording_the_whole_batch_stands_for_those_that_were_cut_short_in_whatever_order_they_come() -> None:
    for order in permutations((ONE_RUN, TWO_RUNS, ALL_RUNS)):
        assert list(most_complete((NEWER, *order, OLDER))) == [NEWER, ALL_RUNS, OLDER]
        assert continued_as((NEWER, *order, OLDER)) == {ONE_RUN.id: ALL_RUNS.id, TWO_RUNS.id: ALL_RUNS.id}


def test_while_none_is_whole_the_one_with_the_most_graded_runs_stands_for_the_others() -> None:
    assert list(most_complete((ONE_RUN, TWO_RUNS))) == list(most_complete((TWO_RUNS, ONE_RUN))) == [TWO_RUNS]
    could_not_run = whole("PFH")  # not cut short, and its last run was made again
    assert list(most_complete((could_not_run, ALL_RUNS))) == [ALL_RUNS]
    assert list(most_complete((could_not_run, TWO_RUNS))) == [could_not_run]


def test_what_was_declared_otherwise_or_begun_at_another_time_is_another_recording() -> None:
    others = [stopped("PUU", commit="other"), stopped("PUU", agent="other"), stopped("PUU", days_ago=1), stopped("PU")]
    for other in others:
        assert not is_same_recording(other, ALL_RUNS)
        assert continued_as([other, ALL_RUNS]) == {}


def test_imports_of_one_time_are_batches_of_their_own() -> None:
    first, second = (whole(letters, origin="import") for letters in ("PPP", "PFF"))
    assert list(most_complete((first, second))) == [first, second]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["P", "F", "U"]), st.booleans(), st.integers(0, 2)), max_size=8))
def test_each_recording_is_given_once_and_nothing_else_is_left_out(facts: list[tuple[str, str, bool, int]]) -> None:
    made = [(stopped if is_short else whole)(letter, days_ago=days, commit=commit) for commit, letter, is_short, days in facts]
    batches = sorted({batch.id: batch for batch in made}.values(), key=lambda batch: (batch.header.recorded_at, batch.id), reverse=True)
    kept = list(most_complete(batches))
    assert len(kept) == len({(batch.header.recorded_at, batch.header.commit) for batch in batches})
    continued = continued_as(batches)
    assert {batch.id for batch in batches} - {batch.id for batch in kept} == set(continued)
    assert set(continued.values()) <= {batch.id for batch in kept}
