"""The paired comparison of two arms: effect, interval, tests."""

from collections.abc import Sequence
from math import fsum, inf
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.clustered import values_by_cluster
from evalplatform.stats.mean import CONFIDENCE, IntervalMethod, MeanEstimate, estimate_mean, has_no_spread
from evalplatform.stats.permutation import sign_flip_p_value
from evalplatform.stats.signed_rank import signed_rank_p_value

if TYPE_CHECKING:
    from numpy.random import Generator

MIN_PAIRS_FOR_TEST = 6
"""Below six pairs the two-sided signed-rank test cannot reach 0.05, whatever the data."""

EffectWord = Literal["negligible", "small", "medium", "large", "unknown"]
_EFFECT_BOUNDS: tuple[tuple[float, EffectWord], ...] = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"), (inf, "large"))


class PairedEffect(Value):
    """The effect of a treatment over pairs, unrounded.

    Differences are candidate minus baseline, in points. `d_z` is their mean over their standard deviation; None when there is no spread and
    the mean is not 0. `p_t`, `p_wilcoxon` and `p_permutation` are two-sided and uncorrected; None below six pairs (or six clusters) or
    without spread, `p_permutation` also where it was not asked for. With clusters `standard_error`, the interval, `p_t` and
    `p_permutation` allow for dependence inside a cluster; the signed-rank test cannot, so `p_wilcoxon` is None. `ci_method` is
    `student_t`, `cluster_t` or `degenerate` (no spread: the interval is the point).
    """

    n: int = Field(ge=2)
    delta_mean: float
    delta_sd: float
    standard_error: float
    d_z: float | None
    effect: EffectWord
    ci_lo: float
    ci_hi: float
    ci_confidence: float = CONFIDENCE
    ci_method: IntervalMethod
    p_t: float | None
    p_wilcoxon: float | None
    n_wilcoxon: int | None
    p_permutation: float | None
    clusters: int | None = None


def paired_effect(differences: Sequence[float], *, clusters: Sequence[str] | None = None, rng: "Generator | None") -> PairedEffect | None:
    """Return effect size, interval and tests of paired differences.

    Student's t (n-1 degrees of freedom, or clusters-1) gives the interval and `p_t`, so the two never disagree. Wilcoxon's signed-rank
    test keeps zero differences and splits their ranks (`zsplit`); SciPy chooses between the exact distribution, the permutation of tied
    ranks and the normal approximation. The sign-flip test needs no distribution at all.

    Args:
        differences: candidate minus baseline, one per question that both sides scored, in points.
        clusters: the cluster of each difference, in the same order, where questions are not independent.
        rng: used by the sign-flip test where it is not exact. None leaves that test out, which costs more than all the rest together.

    Returns:
        The effect, or None below two pairs or below two clusters.

    Raises:
        ValueError: differences and clusters differ in length.

    Example:
        >>> import numpy
        >>> round(paired_effect([1.0, 2.0, 3.0, 4.0], rng=numpy.random.default_rng(0)).d_z, 4)
        1.9365

    References:
        Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, 2.3.5 (d_z) and 2.2.3 (the words).
        Pratt, Journal of the American Statistical Association 54(287), 1959, on zero differences.
    """
    estimate = estimate_mean(differences, clusters=clusters)
    if estimate is None:
        return None
    d_z = _standardised(estimate)
    independent_units = estimate.n if estimate.clusters is None else estimate.clusters
    is_testable = estimate.ci_method != "degenerate" and independent_units >= MIN_PAIRS_FOR_TEST
    p_wilcoxon = signed_rank_p_value(differences) if is_testable and clusters is None else None
    return PairedEffect(
        n=estimate.n,
        delta_mean=estimate.mean,
        delta_sd=estimate.sd,
        standard_error=estimate.standard_error,
        d_z=d_z,
        effect=effect_word(d_z),
        ci_lo=estimate.ci_lo,
        ci_hi=estimate.ci_hi,
        ci_method=estimate.ci_method,
        p_t=_t_p_value(estimate) if is_testable else None,
        p_wilcoxon=p_wilcoxon,
        n_wilcoxon=None if p_wilcoxon is None else estimate.n,
        p_permutation=sign_flip_p_value(_flipping_units(differences, clusters), rng=rng) if is_testable and rng is not None else None,
        clusters=estimate.clusters,
    )


def effect_word(d_z: float | None) -> EffectWord:
    """Return Cohen's word for a standardised effect of either sign: below 0.2 negligible, 0.5 small, 0.8 medium, else large."""
    if d_z is None:
        return "unknown"
    return next(word for bound, word in _EFFECT_BOUNDS if abs(d_z) < bound)


def _standardised(estimate: MeanEstimate) -> float | None:
    if estimate.mean == 0:
        return 0.0
    return None if has_no_spread(estimate.mean, estimate.sd) else estimate.mean / estimate.sd


def _t_p_value(estimate: MeanEstimate) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(estimate.degrees_of_freedom, -abs(estimate.mean) / estimate.standard_error))


def _flipping_units(differences: Sequence[float], clusters: Sequence[str] | None) -> Sequence[float]:
    """Return what flips its sign as one: each difference, or each cluster's sum."""
    if clusters is None:
        return differences
    return [fsum(group) for group in values_by_cluster(differences, clusters).values()]
