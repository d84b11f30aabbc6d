"""The exact interval of a rate: published values, its ends, and that it holds at least as often as it says."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.stats.exact_rate import exact_rate_interval
from evalplatform.stats.wilson import wilson_interval

# statsmodels.stats.proportion.proportion_confint(successes, trials, method="beta"), as R's binom.test gives them.
PUBLISHED = {
    (0, 10): (0.0, 0.30849710781876083),
    (1, 10): (0.0025285785444617848, 0.4450161170281953),
    (5, 10): (0.18708602844739854, 0.8129139715526015),
    (7, 1_000): (0.002818858759620524, 0.014369194978918632),
    (10, 10): (0.6915028921812392, 1.0),
}


@pytest.mark.parametrize(("counts", "ends"), PUBLISHED.items(), ids=str)
def test_published_intervals_are_given(counts: tuple[int, int], ends: tuple[float, float]) -> None:
    found = exact_rate_interval(*counts)
    assert found is not None
    assert (found.ci_lo, found.ci_hi) == pytest.approx(ends, rel=1e-9)


def test_without_a_trial_there_is_no_interval_and_impossible_counts_are_refused() -> None:
    assert exact_rate_interval(0, 0) is None
    for impossible in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="successes"):
            exact_rate_interval(*impossible)


@given(st.integers(1, 60), st.data())
def test_it_holds_the_rate_and_is_the_mirror_of_the_other_outcomes(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    found, mirrored = exact_rate_interval(successes, trials), exact_rate_interval(trials - successes, trials)
    assert found is not None
    assert mirrored is not None
    assert found.ci_lo <= found.rate <= found.ci_hi
    assert (found.ci_lo, found.ci_hi) == pytest.approx((1 - mirrored.ci_hi, 1 - mirrored.ci_lo), abs=1e-9)


@pytest.mark.parametrize("rate", [0.0037, 0.028, 0.1, 0.5])
@pytest.mark.parametrize("trials", [5, 20, 100])
def test_it_covers_every_rate_at_least_as_often_as_it_says(rate: float, trials: int) -> None:
    covered = 0.0
    for successes in range(trials + 1):
        found = exact_rate_interval(successes, trials)
        assert found is not None
        if found.ci_lo <= rate <= found.ci_hi:
            covered += comb(trials, successes) * rate**successes * (1 - rate) ** (trials - successes)
    assert covered >= 0.95


def test_wilsons_is_narrower_near_a_half() -> None:
    exact, wilson = exact_rate_interval(10, 20), wilson_interval(10, 20)
    assert exact is not None
    assert wilson is not None
    assert exact.ci_lo < wilson.ci_lo < wilson.ci_hi < exact.ci_hi
