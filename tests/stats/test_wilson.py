import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evalplatform.stats.wilson import wilson_interval


@given(st.integers(1, 500).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_the_interval_is_that_of_an_independent_implementation(counts):
    successes, trials = counts
    interval = wilson_interval(successes, trials)
    reference = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert interval.rate == successes / trials
    assert interval.ci_lo == pytest.approx(reference.low, abs=1e-12)
    assert interval.ci_hi == pytest.approx(reference.high, abs=1e-12)
    assert 0 <= interval.ci_lo <= interval.rate <= interval.ci_hi <= 1


def test_without_a_trial_there_is_no_rate():
    assert wilson_interval(0, 0) is None


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3)])
def test_more_successes_than_trials_are_refused(successes, trials):
    with pytest.raises(ValueError, match="successes"):
        wilson_interval(successes, trials)
