"""Agreement of two raters: what is defined, what has an interval, and what does not depend on order or on who is named first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.stats.agreement import Kappa, RankCorrelation, cohen_kappa, rank_correlation

PASSED_FAILED = st.sampled_from(["passed", "failed"])
VERDICT_PAIRS = st.lists(st.tuples(PASSED_FAILED, PASSED_FAILED), max_size=40)
POINTS = st.one_of(st.integers(0, 5).map(float), st.floats(0, 100))
POINT_PAIRS = st.lists(st.tuples(POINTS, POINTS), max_size=40)


def table(both_passed: int, first_alone: int, second_alone: int, both_failed: int) -> list[tuple[str, str]]:
    cells = {("passed", "passed"): both_passed, ("passed", "failed"): first_alone, ("failed", "passed"): second_alone}
    return [pair for pair, count in {**cells, ("failed", "failed"): both_failed}.items() for _ in range(count)]


def test_kappa_of_the_textbook_table() -> None:
    found = cohen_kappa(table(20, 5, 10, 15))
    assert found is not None
    assert (found.n, found.kappa, found.expected_rate) == (50, pytest.approx(0.4), pytest.approx(0.5))


def test_kappa_is_not_defined_where_both_sides_say_one_thing_only() -> None:
    assert cohen_kappa(table(40, 0, 0, 0)) is None
    assert cohen_kappa([]) is None


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [(table(20, 0, 0, 15), 1.0), (table(0, 15, 15, 0), -1.0), (table(15, 15, 0, 0), 0.0)],
    ids=["all agree", "all disagree", "one side never varies"],
)
def test_no_interval_is_claimed_where_the_standard_error_is_zero(pairs: list[tuple[str, str]], kappa: float) -> None:
    found = cohen_kappa(pairs)
    assert found is not None
    assert (found.kappa, found.standard_error, found.ci_lo, found.ci_hi) == (kappa, 0.0, None, None)
    assert found.ci_reason == "the standard error is 0"


def test_ninety_percent_agreement_can_have_a_kappa_near_zero() -> None:
    # Why the share of agreement stands beside kappa: at extreme pass rates chance alone agrees that often.
    found = cohen_kappa(table(90, 5, 5, 0))
    assert found is not None
    assert found.kappa == pytest.approx(-0.0526, abs=1e-4)


def test_a_monotone_relation_correlates_fully_however_curved_and_has_no_interval() -> None:
    pairs = [(float(number), float(number**3)) for number in range(30)]
    assert rank_correlation(pairs) == RankCorrelation(n=30, rho=1.0, ci_lo=None, ci_hi=None, ci_reason="the ranks fit without exception")
    reversed_pairs = [(first, -second) for first, second in pairs]
    assert rank_correlation(reversed_pairs).rho == -1.0  # type: ignore[union-attr]


@pytest.mark.parametrize("pairs", [[], [(1.0, 2.0)], [(5.0, 1.0), (5.0, 2.0), (5.0, 3.0)], [(1.0, 5.0), (2.0, 5.0)]])
def test_there_is_no_correlation_where_one_side_does_not_vary(pairs: list[tuple[float, float]]) -> None:
    assert rank_correlation(pairs) is None


def test_three_pairs_have_a_correlation_and_no_interval() -> None:
    found = rank_correlation([(1, 1), (2, 3), (3, 2)])
    assert found == RankCorrelation(n=3, rho=0.5, ci_lo=None, ci_hi=None, ci_reason="fewer than 4 pairs")


def test_the_interval_of_a_correlation_is_bonett_and_wrights() -> None:
    # By hand: n = 5, rho = 0.8, z = atanh(0.8) = 1.0986, sd = sqrt((1 + 0.32) / 2) = 0.8124, 1.96 sd = 1.5923
    found = rank_correlation([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)])
    assert found is not None
    assert (found.rho, found.ci_lo, found.ci_hi) == (pytest.approx(0.8), pytest.approx(-0.4571, abs=1e-4), pytest.approx(0.9908, abs=1e-4))


def numbers(found: Kappa | RankCorrelation | None) -> list[float | None]:
    if found is None:
        return []
    estimate = found.kappa if isinstance(found, Kappa) else found.rho
    return [round(number, 9) if number is not None else None for number in (estimate, found.ci_lo, found.ci_hi)]


def inside(low: float | None, estimate: float, high: float | None) -> bool:
    return (low is None and high is None) or (low is not None and high is not None and -1 <= low <= estimate <= high <= 1)


@given(VERDICT_PAIRS, st.randoms(use_true_random=False))
def test_kappa_keeps_its_bounds_and_cares_for_neither_order_nor_sides(pairs: list[tuple[str, str]], random) -> None:  # type: ignore[no-untyped-def]
    found = cohen_kappa(pairs)
    shuffled = random.sample(pairs, len(pairs))
    renamed = [({"passed": "a", "failed": "b"}[first], {"passed": "a", "failed": "b"}[second]) for first, second in pairs]
    assert numbers(found) == numbers(cohen_kappa(shuffled)) == numbers(cohen_kappa(renamed))
    assert numbers(found) == numbers(cohen_kappa([(second, first) for first, second in pairs]))
    if found is not None:
        assert inside(found.ci_lo, found.kappa, found.ci_hi)


@given(POINT_PAIRS, st.randoms(use_true_random=False))
def test_a_rank_correlation_keeps_its_bounds_and_cares_for_neither_order_nor_sides(pairs: list[tuple[float, float]], random) -> None:  # type: ignore[no-untyped-def]
    found = rank_correlation(pairs)
    assert numbers(found) == numbers(rank_correlation(random.sample(pairs, len(pairs))))
    assert numbers(found) == numbers(rank_correlation([(second, first) for first, second in pairs]))
    if found is not None:
        assert inside(found.ci_lo, found.rho, found.ci_hi)


@given(POINT_PAIRS)
def test_another_unit_of_points_changes_no_rank_correlation(pairs: list[tuple[float, float]]) -> None:
    halved = [(first / 4, 8 * second) for first, second in pairs]  # powers of two: exact but for the smallest numbers
    if all(value == 0 or value > 1e-300 for pair in pairs for value in pair):
        assert numbers(rank_correlation(pairs)) == numbers(rank_correlation(halved))
