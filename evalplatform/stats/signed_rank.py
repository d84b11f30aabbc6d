"""Wilcoxon's signed-rank test of paired differences."""

from collections.abc import Sequence
from math import erfc, sqrt

EXACT_LIMIT = 50
"""Above this many pairs SciPy's `method="auto"` takes the normal approximation."""
TIED_EXACT_LIMIT = 13
"""Above this many pairs it does so too where differences are tied or 0, since its exact distribution knows neither."""


def signed_rank_p_value(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the signed-rank test, with zero differences kept and their ranks split (`zsplit`).

    It is that of `scipy.stats.wilcoxon(differences, zero_method="zsplit", method="auto")`: exact for few pairs, else the normal
    approximation with a correction for ties and none for continuity. The approximation is computed here, because loading `scipy.stats`
    takes 0.7 s and 45 MB, and only the exact distributions need it.

    Args:
        differences: at least one of them is not 0.

    References:
        Pratt, Journal of the American Statistical Association 54(287), 1959, on zero differences.
        Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, 2014, 3.1, on ties.
    """
    if len(differences) > EXACT_LIMIT or (len(differences) > TIED_EXACT_LIMIT and _has_ties(differences)):
        return _normal_p_value(differences)
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences, zero_method="zsplit", alternative="two-sided", method="auto").pvalue)


def _has_ties(differences: Sequence[float]) -> bool:
    magnitudes = set(map(abs, differences))
    return len(magnitudes) < len(differences) or 0 in magnitudes


def _normal_p_value(differences: Sequence[float]) -> float:
    import numpy as np

    seen = np.array(differences)
    magnitudes = np.abs(seen)
    order = np.argsort(magnitudes)
    magnitudes = magnitudes[order]
    starts = np.flatnonzero(np.concatenate(([True], magnitudes[1:] != magnitudes[:-1])))  # of each run of equal magnitudes
    counts = np.diff(np.append(starts, len(differences)))
    mid_ranks = np.repeat(starts + (counts + 1) / 2, counts)
    # Ranks are multiples of a half, so the sum is exact whatever its order; a zero difference gives half of its rank to each side.
    positive = float(np.sum(mid_ranks * (np.sign(seen[order]) + 1) / 2))
    n = len(differences)
    tied = counts.astype(np.float64)
    tie_correction = float(np.sum(tied**3 - tied)) / 2
    deviation = sqrt((n * (n + 1) * (2 * n + 1) - tie_correction) / 24)
    return erfc(abs(positive - n * (n + 1) / 4) / deviation / sqrt(2))
