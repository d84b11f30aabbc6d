"""Fisher's exact test of a drop in the pass rate, in integers and fractions from end to end.

Notation in this file: a table has the margins (baseline runs, candidate runs, passes of both sides together). Given these, the passes of
the baseline are hypergeometric when nothing changed.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

from evalplatform.stats.pass_counts import PassCount, refuse_ungraded

Margins = tuple[int, int, int]
"""Graded baseline runs, graded candidate runs, passes of both together."""


def fisher_drop_p(baseline: PassCount, candidate: PassCount) -> Fraction:
    """Return how often chance alone puts at least this many of the passes on the baseline's side, given all margins.

    One-sided: the alternative is that the candidate passes less often. The value is exact, so that it can be compared with a level
    inclusively: 24/24 to 0/1 is 1/25, which is not above 0.04.

    Args:
        baseline: passes of the baseline's graded runs.
        candidate: passes of the candidate's graded runs.

    Returns:
        A p-value in (0, 1], not corrected for the number of scenarios.

    Raises:
        NoGradedRunsError: a side has no graded run.

    Example:
        >>> fisher_drop_p(PassCount(passed=10, graded=10), PassCount(passed=6, graded=10))
        Fraction(14, 323)

    References:
        Fisher, Journal of the Royal Statistical Society 98(1), 1935.
    """
    refuse_ungraded(baseline, candidate)
    return _drop_p(margins_of(baseline, candidate), baseline.passed)


def smallest_fisher_drop_p(baseline: PassCount, candidate: PassCount) -> Fraction:
    """Return the least p-value that any table with these margins can have: that of all passes lying on the baseline's side.

    1 where everything passed or nothing did: no such table can show a drop.

    Raises:
        NoGradedRunsError: a side has no graded run.

    References:
        Tarone, Biometrics 46(2), 1990.
    """
    refuse_ungraded(baseline, candidate)
    margins = margins_of(baseline, candidate)
    return _drop_p(margins, most_baseline_passes(margins))


def margins_of(baseline: PassCount, candidate: PassCount) -> Margins:
    """Return the margins of the table that two counts make."""
    return baseline.graded, candidate.graded, baseline.passed + candidate.passed


def ways(margins: Margins) -> int:
    """Return in how many ways the passes can lie among all runs."""
    return comb(margins[0] + margins[1], margins[2])


def most_baseline_passes(margins: Margins) -> int:
    """Return how many passes the baseline has in the table that shows the largest drop."""
    return min(margins[0], margins[2])


def table_ways(margins: Margins, baseline_passes: int) -> int:
    """Return in how many of the ways the baseline has exactly so many passes."""
    return comb(margins[0], baseline_passes) * comb(margins[1], margins[2] - baseline_passes)


@lru_cache(maxsize=65_536)
def _drop_p(margins: Margins, baseline_passes: int) -> Fraction:
    return Fraction(drop_tails(margins)[most_baseline_passes(margins) - baseline_passes], ways(margins))


@lru_cache(maxsize=8_192)
def drop_tails(margins: Margins) -> tuple[int, ...]:
    """Return the ways of each table and of all larger drops together, the largest drop first; the last is every way there is."""
    baseline_runs, candidate_runs, passes = margins
    least = max(0, passes - candidate_runs)
    most = min(baseline_runs, passes)
    return tuple(accumulate(table_ways(margins, baseline_passes) for baseline_passes in range(most, least - 1, -1)))
