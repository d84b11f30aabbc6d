"""Two rates over the same trials: who passed under both of two conditions, under one, under neither."""

from math import sqrt

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.wilson import wilson_interval


class PairedPasses(Value):
    """What pairs came to: passed on both sides, on the candidate's alone, on the baseline's alone, on neither."""

    both: int = Field(ge=0)
    candidate_alone: int = Field(ge=0)
    baseline_alone: int = Field(ge=0)
    neither: int = Field(ge=0)

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return self.both + self.candidate_alone + self.baseline_alone + self.neither

    @property
    def discordant(self) -> int:
        """How many pairs the two sides disagree on; only these speak of a difference."""
        return self.candidate_alone + self.baseline_alone


class RateDifference(Value):
    """A candidate's rate minus its baseline's, with its 95% interval, each in [-1, 1]."""

    difference: float = Field(ge=-1, le=1)
    ci_lo: float = Field(ge=-1, le=1)
    ci_hi: float = Field(ge=-1, le=1)


def mcnemar_p_value(passes: PairedPasses) -> float | None:
    """Return how often chance alone splits the pairs that disagree at least this unevenly.

    McNemar's test in its exact form: where neither side is better, each pair that disagrees falls to either side with equal chance. The
    two-sided p-value is twice the smaller binomial tail, at most 1. Pairs that agree do not count.

    Args:
        passes: the pairs, independent of each other.

    Returns:
        A p-value in (0, 1], 1 where no pair disagrees; None without a pair.

    Example:
        >>> mcnemar_p_value(PairedPasses(both=5, candidate_alone=6, baseline_alone=0, neither=3))
        0.03125

    References:
        McNemar, Psychometrika 12(2), 1947.
    """
    if not passes.pairs:
        return None
    from scipy.special import bdtr

    fewer = min(passes.candidate_alone, passes.baseline_alone)
    return min(1.0, 2 * float(bdtr(fewer, passes.discordant, 0.5)))


def paired_rate_difference(passes: PairedPasses) -> RateDifference | None:
    """Return the difference of two paired rates with a 95% interval.

    Newcombe's square-and-add interval for paired data (his method 10): Wilson's intervals of both rates, joined with the correlation of the
    pairs, which is taken with a continuity correction where it is positive. It has a width where every pair agrees, and stays in [-1, 1].

    Args:
        passes: the pairs, independent of each other.

    Returns:
        The difference, or None without a pair.

    References:
        Newcombe, Statistics in Medicine 17(22), 1998, pp. 2635-2650.
    """
    candidate = wilson_interval(passes.both + passes.candidate_alone, passes.pairs)
    baseline = wilson_interval(passes.both + passes.baseline_alone, passes.pairs)
    if candidate is None or baseline is None:
        return None
    correlation = _correlation(passes)
    difference = (passes.candidate_alone - passes.baseline_alone) / passes.pairs
    below = _joined(candidate.rate - candidate.ci_lo, baseline.ci_hi - baseline.rate, correlation)
    above = _joined(candidate.ci_hi - candidate.rate, baseline.rate - baseline.ci_lo, correlation)
    return RateDifference(difference=difference, ci_lo=max(-1.0, difference - below), ci_hi=min(1.0, difference + above))


def _correlation(passes: PairedPasses) -> float:
    margins = (
        (passes.both + passes.candidate_alone)
        * (passes.baseline_alone + passes.neither)
        * (passes.both + passes.baseline_alone)
        * (passes.candidate_alone + passes.neither)
    )
    if not margins:
        return 0.0
    agreement = float(passes.both * passes.neither - passes.candidate_alone * passes.baseline_alone)
    if agreement > 0:
        agreement = max(agreement - passes.pairs / 2, 0.0)
    return agreement / sqrt(margins)


def _joined(one: float, other: float, correlation: float) -> float:
    # The sum is a square for any correlation in [-1, 1]; floating point may leave it just below zero.
    return sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))
