"""How far two raters of the same things agree: rank correlation of numbers, kappa of categories, each with its interval."""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import atanh, sqrt, tanh
from statistics import NormalDist

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.mean import CONFIDENCE

LEAST_PAIRS_FOR_INTERVAL = 4
"""The variance of Fisher's z has n - 3 below the line."""
NO_VARIANCE = 1e-12
"""A variance of at most this is rounding noise around zero."""


class RankCorrelation(Value):
    """Spearman's rank correlation over `n` pairs and its 95% interval; where the method gives none, `ci_reason` says why."""

    n: int
    rho: float = Field(ge=-1, le=1)
    ci_lo: float | None = Field(ge=-1, le=1)
    ci_hi: float | None = Field(ge=-1, le=1)
    ci_reason: str | None = None


class Kappa(Value):
    """Cohen's kappa over `n` pairs and its 95% interval; where the method gives none, `ci_reason` says why.

    `expected_rate` is the agreement that chance alone would give two raters with these habits.
    """

    n: int
    kappa: float = Field(ge=-1, le=1)
    expected_rate: float = Field(ge=0, lt=1)
    standard_error: float = Field(ge=0)
    ci_lo: float | None = Field(ge=-1, le=1)
    ci_hi: float | None = Field(ge=-1, le=1)
    ci_reason: str | None = None


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> RankCorrelation | None:
    """Return Spearman's rank correlation; tied numbers share the mean of their ranks.

    The interval is Fisher's: z = atanh(rho), with the variance (1 + rho^2 / 2) / (n - 3) of Bonett and Wright, turned back by tanh. It is
    an approximation for untied numbers; many ties make it a little too wide or too narrow.

    Args:
        pairs: each thing's number by the first rater and by the second; things are independent of each other.

    Returns:
        The correlation, or None where it is not defined: below two pairs, or where one rater gave every thing the same number. There is no
        interval below four pairs, nor at a correlation of exactly 1 or -1, where z is infinite.

    Example:
        >>> round(rank_correlation([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)]).rho, 3)
        0.8

    References:
        Spearman, American Journal of Psychology 15(1), 1904. Bonett and Wright, Psychometrika 65(1), 2000.
    """
    n = len(pairs)
    first, second = _doubled_midranks([pair[0] for pair in pairs]), _doubled_midranks([pair[1] for pair in pairs])
    # Doubled ranks are whole numbers around the mean n + 1, so that perfect agreement is found exactly and not up to rounding.
    shared = sum((a - n - 1) * (b - n - 1) for a, b in zip(first, second, strict=True))
    spreads = sum((a - n - 1) ** 2 for a in first), sum((b - n - 1) ** 2 for b in second)
    if 0 in spreads:
        return None
    if shared**2 == spreads[0] * spreads[1]:
        return RankCorrelation(n=n, rho=1.0 if shared > 0 else -1.0, ci_lo=None, ci_hi=None, ci_reason="the ranks fit without exception")
    rho = shared / sqrt(spreads[0] * spreads[1])
    if n < LEAST_PAIRS_FOR_INTERVAL:
        return RankCorrelation(n=n, rho=rho, ci_lo=None, ci_hi=None, ci_reason=f"fewer than {LEAST_PAIRS_FOR_INTERVAL} pairs")
    half_width = _z() * sqrt((1 + rho * rho / 2) / (n - 3))
    return RankCorrelation(n=n, rho=rho, ci_lo=tanh(atanh(rho) - half_width), ci_hi=tanh(atanh(rho) + half_width))


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> Kappa | None:
    """Return Cohen's kappa, unweighted: the agreement beyond chance, as a share of what is possible beyond chance.

    The interval is normal, with the large-sample standard error of Fleiss, Cohen and Everitt, cut at -1 and 1. Kappa collapses where nearly
    everything has one category, so it stands beside the plain share of agreement and never alone.

    Args:
        pairs: each thing's category by the first rater and by the second; things are independent of each other.

    Returns:
        Kappa, or None where it is not defined: without a pair, or where both raters put everything in one and the same category. There is
        no interval where the standard error is 0 (all pairs agree, all disagree, or one rater never varies): no width would claim that the
        number is certain.

    Example:
        >>> pairs = [("passed", "passed")] * 20 + [("passed", "failed")] * 5 + [("failed", "passed")] * 10 + [("failed", "failed")] * 15
        >>> round(cohen_kappa(pairs).kappa, 3)
        0.4

    References:
        Cohen, Educational and Psychological Measurement 20(1), 1960. Fleiss, Cohen and Everitt, Psychological Bulletin 72(5), 1969.
    """
    n = len(pairs)
    first, second = Counter(pair[0] for pair in pairs), Counter(pair[1] for pair in pairs)
    agreeing = sum(a == b for a, b in pairs)
    by_chance = sum(first[category] * second[category] for category in first)
    if by_chance == n * n:
        return None
    observed, expected = agreeing / n, by_chance / (n * n)
    kappa = (n * agreeing - by_chance) / (n * n - by_chance)
    standard_error = sqrt(_kappa_variance(pairs, first, second, observed=observed, expected=expected))
    half_width = _z() * standard_error
    return Kappa(
        n=n,
        kappa=kappa,
        expected_rate=expected,
        standard_error=standard_error,
        ci_lo=max(-1.0, kappa - half_width) if standard_error else None,
        ci_hi=min(1.0, kappa + half_width) if standard_error else None,
        ci_reason=None if standard_error else "the standard error is 0",
    )


def _kappa_variance(
    pairs: Sequence[tuple[Hashable, Hashable]], first: Counter[Hashable], second: Counter[Hashable], *, observed: float, expected: float
) -> float:
    n = len(pairs)
    total = 0.0
    for (a, b), count in Counter(pairs).items():
        # The diagonal weighs a category by how often both use it; elsewhere the marginals cross: p_{i.} of b, p_{.j} of a.
        crossed = (first[b] + second[a]) / n * (1 - observed)
        total += count / n * ((1 - expected) - crossed if a == b else crossed) ** 2
    variance = (total - (observed * expected - 2 * expected + observed) ** 2) / (n * (1 - expected) ** 4)
    return variance if variance > NO_VARIANCE else 0.0


def _doubled_midranks(numbers: Sequence[float]) -> list[int]:
    """Return twice the rank of each number, counted from 1; tied numbers share the mean of their ranks."""
    counts = Counter(numbers)
    ranks: dict[float, int] = {}
    below = 0
    for number in sorted(counts):
        ranks[number] = 2 * below + counts[number] + 1
        below += counts[number]
    return [ranks[number] for number in numbers]


def _z() -> float:
    return NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
