"""The interval of a rate: how often something would happen, given that it happened so many times."""

from math import sqrt
from statistics import NormalDist

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.mean import CONFIDENCE


class RateInterval(Value):
    """A rate and its 95% interval, each in [0, 1]."""

    rate: float = Field(ge=0, le=1)
    ci_lo: float = Field(ge=0, le=1)
    ci_hi: float = Field(ge=0, le=1)


def wilson_interval(successes: float, trials: int) -> RateInterval | None:
    """Return the share of successes with Wilson's 95% score interval, without continuity correction.

    Unlike a normal interval around the rate it never leaves [0, 1], and it has a width where every trial, or none, succeeded.

    Args:
        successes: how many trials succeeded. A trial may succeed by half, as a tie does; the interval is then a little wider than it need
            be, since a half varies less than a coin.
        trials: how many there were, independent of each other.

    Returns:
        The rate and its interval, or None without a trial.

    Raises:
        ValueError: successes are below 0 or above the trials.

    Example:
        >>> interval = wilson_interval(9, 10)
        >>> round(interval.ci_lo, 3), round(interval.ci_hi, 3)
        (0.596, 0.982)

    References:
        Wilson, Journal of the American Statistical Association 22(158), 1927. Brown, Cai and DasGupta, Statistical Science 16(2), 2001.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if trials == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    rate, shrunk = successes / trials, 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / shrunk
    half_width = z / shrunk * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    # At 0 and at all successes one end is exactly the rate; floating point would miss it by its last digit.
    lo = 0.0 if successes == 0 else centre - half_width
    hi = 1.0 if successes == trials else centre + half_width
    return RateInterval(rate=rate, ci_lo=lo, ci_hi=hi)
