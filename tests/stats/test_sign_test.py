import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.stats.sign_test import sign_test, sign_test_p_value

DIFFERENCES = st.lists(st.floats(-100, 100), max_size=40)
QUICK = settings(deadline=None, max_examples=50)


@given(DIFFERENCES)
@QUICK
def test_every_pair_is_won_lost_or_tied_and_turning_the_sides_turns_the_counts(differences: list[float]) -> None:
    there, back = sign_test(differences), sign_test([-difference for difference in differences])
    assert there.wins + there.losses + there.ties == len(differences)
    assert (back.wins, back.losses, back.ties, back.p_value) == (there.losses, there.wins, there.ties, there.p_value)


@given(DIFFERENCES)
@QUICK
def test_how_much_a_pair_is_won_by_changes_nothing(differences: list[float]) -> None:
    assert sign_test([(difference > 1e-9) - (difference < -1e-9) for difference in differences]) == sign_test(differences)


@given(st.integers(0, 60), st.integers(0, 60))
@QUICK
def test_one_more_win_for_the_side_that_leads_never_weakens_the_evidence(wins: int, lead: int) -> None:
    assert sign_test_p_value(wins + lead + 1, wins) <= sign_test_p_value(wins + lead, wins) <= 1


def test_rounding_noise_is_a_tie() -> None:
    assert sign_test([0.1 + 0.2 - 0.3, 0.0, -1e-12]).ties == 3


def test_all_ties_are_no_evidence() -> None:
    assert sign_test([0.0] * 20).p_value == sign_test([]).p_value == 1.0


def test_five_pairs_can_never_be_significant_and_six_can() -> None:
    assert (sign_test_p_value(5, 0), sign_test_p_value(6, 0)) == (0.0625, 0.03125)


def test_a_negative_count_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="-1 wins"):
        sign_test_p_value(-1, 3)
