"""The exact stratified test of a drop: many scenarios that each lost a little, of which none is significant by itself.

Given all margins, the baseline's passes of each scenario are hypergeometric, and independent of each other, when nothing changed. Their sum
is the statistic. It is the exact conditional test of a common odds ratio, as of several 2 x 2 tables.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, log, prod
from typing import TYPE_CHECKING

from evalplatform.stats.fisher_drop import Margins, margins_of, most_baseline_passes, table_ways, ways
from evalplatform.stats.pass_counts import PassCount, refuse_ungraded

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

SidePair = tuple[PassCount, PassCount]
"""A scenario's passes: baseline, candidate."""

TRIMMED = 1e-18
"""Tilted probabilities below this are dropped at either end; relative to the answer all of them together are below 1e-12."""
STEEPEST = 80.0
NEAR_TILT = 1e-6
EXACT_WITHIN = 1e-6


def stratified_drop_p(scenarios: Sequence[SidePair]) -> float:
    """Return how often chance alone puts at least as many of all passes on the baseline's side, given every scenario's margins.

    It is computed by convolution under an exponential tilt that moves the mean to what was observed: so the sum's distribution can be cut
    off at both ends without losing digits of a small p-value. The relative error is below 1e-9.

    Args:
        scenarios: graded passes of both sides, each of scenarios taken as independent.

    Returns:
        A one-sided p-value in (0, 1]; 1 without scenarios.

    Raises:
        NoGradedRunsError: a side has no graded run.

    Example:
        >>> ten, nine = PassCount(passed=10, graded=10), PassCount(passed=9, graded=10)
        >>> round(stratified_drop_p([(ten, nine)] * 3), 6)
        0.125

    References:
        Mehta, Patel and Gray, Journal of the American Statistical Association 80(392), 1985 (the exact test);
        Butler, Saddlepoint Approximations with Applications, 2007, chapter 1 (the tilt).
    """
    strata, observed = _strata(scenarios)
    least = sum(number * _least(margins) for margins, number in strata.items())
    most = sum(number * most_baseline_passes(margins) for margins, number in strata.items())
    if observed <= least:
        return 1.0
    if observed == most:
        return float(
            prod((Fraction(table_ways(margins, most_baseline_passes(margins)), ways(margins)) ** n for margins, n in strata.items()))
        )
    return min(1.0, _tilted_tail(strata, observed))


def is_stratified_drop(scenarios: Sequence[SidePair], *, level: Fraction, p: float | None = None) -> bool:
    """Return whether the stratified p-value is at most `level`, ties included; near it, compared in fractions.

    Args:
        scenarios: graded passes of both sides.
        level: at most so often chance alone may show as much.
        p: `stratified_drop_p` of the same scenarios where that is known; else it is computed here.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    p = stratified_drop_p(scenarios) if p is None else p
    if abs(p - float(level)) > EXACT_WITHIN * float(level):
        return p <= level
    return exact_stratified_drop_p(scenarios) <= level


def exact_stratified_drop_p(scenarios: Sequence[SidePair]) -> Fraction:
    """Return the p-value of `stratified_drop_p` as a fraction, by convolution in whole numbers; slow for hundreds of scenarios.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    strata, observed = _strata(scenarios)
    counts, least = [1], 0
    for margins in strata.elements():
        low = _least(margins)
        tables = [table_ways(margins, passes) for passes in range(low, most_baseline_passes(margins) + 1)]
        longer = [0] * (len(counts) + len(tables) - 1)
        for place, count in enumerate(counts):
            for further, table in enumerate(tables):
                longer[place + further] += count * table
        counts, least = longer, least + low
    return Fraction(sum(counts[max(0, observed - least) :]), sum(counts))


def _strata(scenarios: Iterable[SidePair]) -> tuple[Counter[Margins], int]:
    """Return how many scenarios have which margins, without those that can show nothing, and the baseline's passes in them."""
    strata: Counter[Margins] = Counter()
    observed = 0
    for baseline, candidate in scenarios:
        refuse_ungraded(baseline, candidate)
        margins = margins_of(baseline, candidate)
        if _least(margins) < most_baseline_passes(margins):
            strata[margins] += 1
            observed += baseline.passed
    return strata, observed


def _least(margins: Margins) -> int:
    return max(0, margins[2] - margins[1])


def _tilted_tail(strata: Counter[Margins], observed: int) -> float:
    """Return the upper tail at `observed`, which lies between the least and the most that the sum can be."""
    import numpy as np

    tilt = _tilt(strata, observed)
    chances, begins_at, log_weight = np.ones(1), 0, 0.0
    for margins, number in strata.items():
        tilted, weight = _tilted(margins, tilt)
        for _ in range(number):
            chances = np.convolve(chances, tilted)
            kept = np.flatnonzero(chances > TRIMMED)
            begins_at += _least(margins) + int(kept[0])
            chances = chances[kept[0] : kept[-1] + 1]
        log_weight += number * weight
    sums = begins_at + np.arange(len(chances))
    above = sums >= observed
    return float(exp(log_weight - tilt * observed) * np.sum(chances[above] * np.exp(-tilt * (sums[above] - observed))))


def _tilt(strata: Counter[Margins], observed: int) -> float:
    """Return the tilt, not below 0, that brings the mean of the sum to what was observed, by halving.

    All strata are tilted at once, as the rows of one table; where a row has fewer values than the longest its weights are 0.
    """
    import numpy as np

    rows = [_log_chances(margins) for margins in strata]
    logs = np.full((len(rows), max(len(row) for row in rows)), -np.inf)
    for place, row in enumerate(rows):
        logs[place, : len(row)] = row
    numbers = np.array(list(strata.values()), dtype=float)
    above_least = np.arange(logs.shape[1])
    wanted = observed - sum(number * _least(margins) for margins, number in strata.items())

    def mean(tilt: float) -> float:
        raised = logs + tilt * above_least
        weights = np.exp(raised - raised.max(axis=1, keepdims=True))
        return float(numbers @ ((weights @ above_least) / weights.sum(axis=1)))

    low, high = 0.0, STEEPEST
    if mean(low) >= wanted:
        return 0.0
    # The tail is exact at any tilt; a near one keeps the digits just as well.
    while high - low > NEAR_TILT:
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < wanted else (low, middle)
    return low


@lru_cache(maxsize=8_192)
def _log_chances(margins: Margins) -> "NDArray[float64]":
    """Return the logarithms of the chances of the tables with these margins, from the least passes of the baseline on."""
    import numpy as np

    total = log(ways(margins))
    return np.array([log(table_ways(margins, passes)) - total for passes in range(_least(margins), most_baseline_passes(margins) + 1)])


def _tilted(margins: Margins, tilt: float) -> "tuple[NDArray[float64], float]":
    """Return the tilted chances from the least number of passes on, and the logarithm of what they were divided by."""
    import numpy as np

    logs = _log_chances(margins)
    raised = logs + tilt * (_least(margins) + np.arange(len(logs)))
    largest = float(raised.max())
    weights = np.exp(raised - largest)
    return weights / weights.sum(), largest + log(float(weights.sum()))
