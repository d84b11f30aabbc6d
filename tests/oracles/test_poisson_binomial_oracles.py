"""The upper tail of the Poisson-binomial beside exact fractions and beside SciPy's binomial."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalplatform.stats.poisson_binomial import chance_of_as_many
from evalplatform.stats.repeated_runs import chance_of_at_least

RATES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1 / 70, 0.05, 0.5, 1.0]))


@given(st.lists(RATES, max_size=25), st.integers(-1, 26))
def test_the_tail_is_that_of_exact_fractions(rates: list[float], events: int) -> None:
    # from the float, and not from its shortest decimals: the same number on both sides
    exact = chance_of_at_least(events, [Fraction(rate) for rate in rates])
    assert chance_of_as_many(events, Counter(rates)) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("events", "number", "rate"), [(1, 10_000, 1e-4), (180, 10_000, 1 / 70), (300, 10_000, 1 / 70), (50, 1_000, 0.001)]
)
def test_equal_rates_give_the_binomial_tail_also_where_it_is_tiny(events: int, number: int, rate: float) -> None:
    assert chance_of_as_many(events, {rate: number}) == pytest.approx(stats.binom.sf(events - 1, number, rate), rel=1e-9)


def test_what_cannot_happen_has_no_chance_and_what_must_happen_is_certain() -> None:
    assert chance_of_as_many(3, {1.0: 2, 0.0: 5}) == 0.0
    assert chance_of_as_many(2, {1.0: 2}) == 1.0
    assert chance_of_as_many(0, {}) == 1.0


@pytest.mark.parametrize("numbers", [{1.5: 1}, {-0.1: 1}, {0.5: -1}])
def test_a_rate_outside_0_to_1_or_a_negative_number_is_refused(numbers: dict[float, int]) -> None:
    with pytest.raises(ValueError, match="events with the rate"):
        chance_of_as_many(1, numbers)
