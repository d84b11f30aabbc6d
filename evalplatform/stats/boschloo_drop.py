"""Boschloo's exact test of a drop in the pass rate, and what it can flag. The largest chance is bracketed by proof, not by a search."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from math import comb, ulp
from typing import TYPE_CHECKING

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.fisher_drop import Margins, drop_tails, margins_of, most_baseline_passes, table_ways, ways
from evalplatform.stats.pass_counts import PassCount, is_drop, refuse_ungraded

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

FLAG_LEVEL = Fraction(1, 20)
GAP_RATIO = 1e-10
"""How close the two bounds of a p-value are brought, relative to it; rounding adds about 1e-12."""


class ProbabilityBounds(Value):
    """Two numbers that a probability is proven to lie between, both ends included."""

    lo: float = Field(ge=0, le=1)
    hi: float = Field(ge=0, le=1)


def boschloo_drop_p(baseline: PassCount, candidate: PassCount) -> float:
    """Return how often chance alone shows a drop at least as extreme, at the pass rate that makes this likeliest.

    The two sides are independent binomial samples with one common, unknown pass rate; the alternative is that the candidate passes less
    often. Tables count as at least as extreme when Fisher's p-value is at most that of the table seen, ties included and compared as
    fractions: floats lose ties, and with them up to half of the p-value.

    Args:
        baseline: passes of the baseline's graded runs.
        candidate: passes of the candidate's graded runs.

    Returns:
        A one-sided p-value in [0, 1], not corrected for the number of scenarios, never above Fisher's, with a relative error below 1e-9.
        It is the upper of the bounds that `boschloo_drop_bounds` proves.

    Raises:
        NoGradedRunsError: a side has no graded run.

    Example:
        >>> round(boschloo_drop_p(PassCount(passed=4, graded=4), PassCount(passed=0, graded=4)), 4)
        0.0039

    References:
        Boschloo, Statistica Neerlandica 24(1), 1970.
    """
    return boschloo_drop_bounds(baseline, candidate).hi


def boschloo_drop_bounds(baseline: PassCount, candidate: PassCount) -> ProbabilityBounds:
    """Return bounds of Boschloo's p-value that hold by proof, less than 1e-9 of it apart.

    On the margin s the extreme tables have together the chance w_s, given s; so the chance of all of them is the polynomial
    sum of Bin(s; N, t) w_s in the common pass rate t, whose Bernstein coefficients are the w_s. On any interval it is at most its largest
    coefficient there and at least its values at the ends; intervals are halved until both agree.

    Raises:
        NoGradedRunsError: a side has no graded run.

    References:
        Farouki, Computer Aided Geometric Design 29(6), 2012, section 5 (bounds and subdivision of Bernstein forms).
    """
    refuse_ungraded(baseline, candidate)
    margins = margins_of(baseline, candidate)
    tail = drop_tails(margins)[most_baseline_passes(margins) - baseline.passed]
    return _bounds(margins[0], margins[1], Fraction(tail, ways(margins)))


def is_flagged(baseline: PassCount, candidate: PassCount, *, level: Fraction = FLAG_LEVEL) -> bool:
    """Return whether this is a drop whose Boschloo p-value is at most `level`.

    A level between the two proven bounds, which are 1e-9 apart, counts as reached. At 0.05 that decides nothing: of all tables of up to 50
    runs a side none has a p-value within 2e-5 of it, relatively (found by trying all of them).

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    return is_drop(baseline, candidate) and boschloo_drop_bounds(baseline, candidate).lo <= level


def can_flag(baseline_graded: int, candidate_graded: int, *, level: Fraction = FLAG_LEVEL) -> bool:
    """Return whether so many runs a side can show a flagged drop at all: whether a fall from all passed to none would be one.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    return most_passes_flagged(baseline_graded, candidate_graded, level=level) is not None


def most_passes_flagged(baseline_graded: int, candidate_graded: int, *, level: Fraction = FLAG_LEVEL) -> int | None:
    """Return the smallest drop that is flagged where every baseline run passed, as the candidate's most passes; None where none is.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    return flag_table(baseline_graded, candidate_graded, level=level)[baseline_graded]


def chance_of_a_flag(baseline: PassCount, candidate: PassCount, *, level: Fraction = FLAG_LEVEL) -> Fraction:
    """Return how often a drop would be flagged if the same runs were dealt to the two sides at random: an exact permutation null.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    most_by_baseline = flag_table(baseline.graded, candidate.graded, level=level)
    margins = margins_of(baseline, candidate)
    flagged = 0
    for baseline_passed in range(most_baseline_passes(margins), max(0, margins[2] - margins[1]) - 1, -1):
        most = most_by_baseline[baseline_passed]
        if most is None or margins[2] - baseline_passed > most:
            break  # flags are a beginning of the order of Fisher's p-values
        flagged += table_ways(margins, baseline_passed)
    return Fraction(flagged, ways(margins))


def flag_table(baseline_graded: int, candidate_graded: int, *, level: Fraction = FLAG_LEVEL) -> tuple[int | None, ...]:
    """Return what is flagged of every table with so many runs: for 0, 1, ... baseline passes the most candidate passes that are.

    Boschloo's p-value does not fall along the order of Fisher's, so that the flagged tables are a beginning of it, found by halving; and
    what Fisher's test finds at `level` Boschloo's does too.

    Returns:
        As many entries as the baseline can have numbers of passes; each says that the candidate's passes up to that number are a flagged
        drop, or None where not even 0 is.

    Raises:
        NoGradedRunsError: a side has no graded run.

    Example:
        >>> flag_table(4, 4)
        (None, None, None, 0, 1)
    """
    refuse_ungraded(*(PassCount(passed=0, graded=graded) for graded in (baseline_graded, candidate_graded)))
    return _flag_table(baseline_graded, candidate_graded, level)


@lru_cache(maxsize=4_096)
def _flag_table(baseline_graded: int, candidate_graded: int, level: Fraction) -> tuple[int | None, ...]:
    drops = list(_drops(baseline_graded, candidate_graded))
    beyond = sorted({p for p, _, _ in drops if p > level}, key=lambda p: (float(p), p))  # floats order nearly all of them, much faster
    further = bisect_left(beyond, True, key=lambda p: _bounds(baseline_graded, candidate_graded, p).lo > level)
    largest = beyond[further - 1] if further else level
    most: dict[int, int] = {}
    for p, baseline_passed, candidate_passed in drops:
        if p <= largest:
            most[baseline_passed] = max(candidate_passed, most.get(baseline_passed, 0))
    return tuple(most.get(baseline_passed) for baseline_passed in range(baseline_graded + 1))


def _drops(baseline_graded: int, candidate_graded: int) -> Iterator[tuple[Fraction, int, int]]:
    """Iterate over the tables that are a drop: Fisher's p-value, the baseline's passes, the candidate's."""
    for passes in range(1, baseline_graded + candidate_graded):
        margins = baseline_graded, candidate_graded, passes
        most = most_baseline_passes(margins)
        for lost, tail in enumerate(drop_tails(margins)):
            baseline_passed, candidate_passed = most - lost, passes - most + lost
            if candidate_passed * baseline_graded < baseline_passed * candidate_graded:
                yield Fraction(tail, ways(margins)), baseline_passed, candidate_passed


@lru_cache(maxsize=65_536)
def _bounds(baseline_runs: int, candidate_runs: int, observed: Fraction) -> ProbabilityBounds:
    runs = baseline_runs + candidate_runs
    weights = [_largest_tail_up_to(observed, (baseline_runs, candidate_runs, passes)) for passes in range(runs + 1)]
    lo, hi = _bracketed_maximum([tail / comb(runs, passes) for passes, tail in enumerate(weights)])
    return ProbabilityBounds(lo=min(lo, 1.0), hi=min(hi, 1.0))


def _largest_tail_up_to(observed: Fraction, margins: Margins) -> int:
    """Return the ways of the tables on a margin whose Fisher p-value is at most the one observed; 0 where there is none."""
    tails = drop_tails(margins)
    # tail / ways <= observed, with nothing rounded: ties are what the test stands on
    most = observed.numerator * ways(margins) // observed.denominator
    extreme = bisect_right(tails, most)
    return tails[extreme - 1] if extreme else 0


def _bracketed_maximum(coefficients: list[float]) -> tuple[float, float]:
    """Return proven bounds of the largest value on [0, 1] of a polynomial with these Bernstein coefficients, none of them negative.

    Every number is a sum of products of numbers that are not negative, so nothing cancels: a halving adds a relative error of at most
    (N + 3) rounding units, and the bounds are widened by all the halvings there were.
    """
    import numpy as np

    whole = np.array(coefficients)
    left_half, right_half = _halvings(len(coefficients))
    best = float(max(whole[0], whole[-1]))
    order = count()  # parts with equal bounds are taken in the order they were made
    parts: list[tuple[float, int, int, NDArray[float64]]] = []
    heappush(parts, (-float(whole.max()), next(order), 0, whole))
    deepest = 0
    while parts and -parts[0][0] > best * (1 + GAP_RATIO):
        _, _, depth, part = heappop(parts)
        deepest = max(deepest, depth + 1)
        for half in (left_half @ part, right_half @ part):
            best = max(best, float(half[0]), float(half[-1]))
            heappush(parts, (-float(half.max()), next(order), depth + 1, half))
    rounding_ratio = (deepest + 1) * (len(coefficients) + 3) * ulp(1.0)
    largest = max(best, -parts[0][0] if parts else 0.0)
    return best * (1 - rounding_ratio), largest * (1 + rounding_ratio)


@lru_cache(maxsize=128)
def _halvings(size: int) -> "tuple[NDArray[float64], NDArray[float64]]":
    """Return the matrices that turn the Bernstein coefficients on an interval into those on its two halves (de Casteljau)."""
    import numpy as np

    left = np.array([[comb(row, column) / 2**row for column in range(size)] for row in range(size)])
    return left, left[::-1, ::-1].copy()
