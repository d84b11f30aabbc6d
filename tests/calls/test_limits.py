"""An endpoint's limits, shared by the runs that a deployment lets ask it at the same time."""

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.calls.limiter import Limits

AT_LEAST_ONE = st.integers(min_value=1, max_value=10_000)


@given(concurrent=AT_LEAST_ONE, per_minute=st.none() | AT_LEAST_ONE, runs=AT_LEAST_ONE)
def test_runs_together_keep_within_the_limits_and_each_may_ask_at_all(concurrent, per_minute, runs):
    share = Limits(max_concurrent=concurrent, requests_per_minute=per_minute).shared_by(runs)
    assert share.max_concurrent >= 1
    assert share.max_concurrent * runs <= concurrent or share.max_concurrent == 1
    assert (share.requests_per_minute is None) == (per_minute is None)
    if per_minute is not None and share.requests_per_minute is not None:
        assert share.requests_per_minute * runs <= per_minute or share.requests_per_minute == 1


def test_one_run_has_the_limits_to_itself():
    limits = Limits(max_concurrent=7, requests_per_minute=61)
    assert limits.shared_by(1) == limits
    assert limits.shared_by(2) == Limits(max_concurrent=3, requests_per_minute=30)
