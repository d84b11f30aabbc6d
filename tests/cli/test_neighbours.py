"""How partition keys are cut into runs, which Dagster takes as a first and a last key."""

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.cli.orchestration.backfill import neighbours

KEYS = [f"cell-{number:02}" for number in range(20)]


def test_a_key_that_is_not_wanted_parts_two_runs() -> None:
    assert list(neighbours(["a", "b", "d"], among=["a", "b", "c", "d"], most=10)) == [["a", "b"], ["d"]]


def test_a_run_has_at_most_so_many_keys() -> None:
    assert list(neighbours(["a", "b", "c"], among=["a", "b", "c"], most=2)) == [["a", "b"], ["c"]]


@given(wanted=st.sets(st.sampled_from(KEYS)), most=st.integers(1, 8))
def test_every_key_is_in_one_run_and_each_run_is_all_that_lies_between_its_ends(wanted: set[str], most: int) -> None:
    pieces = list(neighbours(sorted(wanted), among=KEYS, most=most))
    assert [key for piece in pieces for key in piece] == sorted(wanted)
    for piece in pieces:
        assert 1 <= len(piece) <= most
        assert piece == KEYS[KEYS.index(piece[0]) : KEYS.index(piece[-1]) + 1]
