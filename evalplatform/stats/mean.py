"""The mean of one sample, with its interval."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from math import sqrt
from operator import mul, sub
from typing import Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.clustered import clustered_standard_error

CONFIDENCE = 0.95
LEAST_FOR_ARRAYS = 1_000
"""From so many values on, arrays take less time than they need to be made."""

NO_SPREAD_RATIO = 1e-9
"""Spread at or below this share of the mean (or of 1) is rounding noise: judged points are weighted means in floating point."""

IntervalMethod = Literal["student_t", "cluster_t", "degenerate"]


class MeanEstimate(Value):
    """A mean and its 95% interval, in the unit of the values, unrounded.

    `ci_method` says how the interval was found: `student_t` with n-1 degrees of freedom, `cluster_t` with one less than the number of
    clusters, or `degenerate` where there is no spread and the interval is the point.
    """

    n: int = Field(ge=2)
    mean: float
    sd: float
    standard_error: float
    ci_lo: float
    ci_hi: float
    ci_method: IntervalMethod
    degrees_of_freedom: int
    clusters: int | None = None


def estimate_mean(values: Sequence[float], *, clusters: Sequence[str] | None = None) -> MeanEstimate | None:
    """Return the mean of `values` with Student's 95% interval.

    Args:
        values: independent numbers, or numbers that are independent between clusters.
        clusters: the cluster of each value; the standard error is then CR1 (see `clustered_standard_error`).

    Returns:
        The estimate, or None below two values or below two clusters: one value says nothing about spread.

    Raises:
        ValueError: values and clusters differ in length.
    """
    n = len(values)
    if n < 2:
        return None
    mean, squares = _mean_and_squares(values)
    sd = sqrt(squares / (n - 1))
    standard_error, groups = sd / sqrt(n), None
    if clusters is not None:
        clustered = clustered_standard_error(values, clusters)
        if clustered is None:
            return None
        standard_error, groups = clustered.standard_error, clustered.clusters
    degrees_of_freedom = (n if groups is None else groups) - 1
    method: IntervalMethod = "student_t" if groups is None else "cluster_t"
    if has_no_spread(mean, sd) or has_no_spread(mean, standard_error):
        method, half_width = "degenerate", 0.0
    else:
        half_width = _t_quantile(degrees_of_freedom) * standard_error
    return MeanEstimate(
        n=n,
        mean=mean,
        sd=sd,
        standard_error=standard_error,
        ci_lo=mean - half_width,
        ci_hi=mean + half_width,
        ci_method=method,
        degrees_of_freedom=degrees_of_freedom,
        clusters=groups,
    )


def _mean_and_squares(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and the sum of the squared distances from it; both sums are added from left to right."""
    if len(values) < LEAST_FOR_ARRAYS:
        mean = plain_mean(values)
        distances = list(map(sub, values, repeat(mean)))
        return mean, plain_sum(map(mul, distances, distances))
    import numpy

    array = numpy.asarray(values, dtype=float)
    mean = float(array.cumsum()[-1]) / len(values)  # a running sum adds in order, which numpy's own `sum` does not
    distances_of_all = array - mean
    return mean, float((distances_of_all * distances_of_all).cumsum()[-1])


def plain_sum(values: Iterable[float]) -> float:
    """Return the sum by adding from left to right in floating point.

    Points have one decimal, so means of twenty questions often end in half a unit of the last decimal shown, and the noise of the additions
    decides which way that rounds. The artifact formats this platform shares with other tools were defined by plain addition. `math.fsum`,
    numpy's pairwise sum and, since Python 3.12, the built-in `sum` give other last digits.
    """
    return deque(accumulate(values, initial=0.0), maxlen=1).pop()  # twice as fast as `reduce(add, ...)`, and the same additions


def plain_mean(values: Sequence[float]) -> float:
    """Return the mean by `plain_sum`.

    Raises:
        ZeroDivisionError: no value.
    """
    return plain_sum(values) / len(values)


def has_no_spread(mean: float, spread: float) -> bool:
    """Return whether a standard deviation or error is zero, up to rounding noise, at the scale of the mean."""
    return spread <= NO_SPREAD_RATIO * max(1.0, abs(mean))


def _t_quantile(degrees_of_freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, 0.5 + CONFIDENCE / 2))
