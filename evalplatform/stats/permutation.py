"""The sign-flip permutation test of a mean of paired differences."""

from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

EXACT_LIMIT = 20
"""At most this many non-zero differences are enumerated: 2**19 sums, 4 MB and some 10 ms."""
RESAMPLES = 9_999
_CHUNK_CELLS = 2_000_000
_TIE_RATIO = 1e-9


def sign_flip_p_value(differences: Sequence[float], *, rng: "Generator") -> float:
    """Return how often random signs give a mean at least as far from 0 as the one seen.

    Under the null hypothesis each difference is as likely as its negative. The statistic is the absolute mean, so the test is two-sided.
    Up to 20 non-zero differences all sign patterns are counted and the p-value is exact; beyond, 9,999 patterns are drawn and the estimate
    is (b + 1) / (m + 1), which is never 0 and keeps the test valid. Sums that differ by rounding noise alone count as equal.

    Args:
        differences: independent paired differences. For clustered pairs, pass each cluster's sum: a cluster then flips as one.
        rng: where patterns are drawn from; it is not touched when the p-value is exact.

    Returns:
        A two-sided p-value in (0, 1]; 1.0 where every difference is 0, or where there is none. The order of the differences, and the sign
        of all of them together, change nothing.

    References:
        Phipson and Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in Genetics and Molecular Biology 9(1), 2010.
    """
    magnitudes = sorted(abs(difference) for difference in differences if difference != 0)
    if not magnitudes:
        return 1.0
    threshold = abs(fsum(differences)) - _TIE_RATIO * fsum(magnitudes)
    if len(magnitudes) <= EXACT_LIMIT:
        return _exact_p_value(magnitudes, threshold)
    return _sampled_p_value(magnitudes, threshold, rng)


def _exact_p_value(magnitudes: Sequence[float], threshold: float) -> float:
    import numpy as np

    sums: NDArray[float64] = np.array([magnitudes[0]])  # the first sign is fixed: a pattern and its mirror image are equally far from 0
    for magnitude in magnitudes[1:]:
        sums = np.concatenate((sums + magnitude, sums - magnitude))
    return float(np.mean(np.abs(sums) >= threshold))


def _sampled_p_value(magnitudes: Sequence[float], threshold: float, rng: "Generator") -> float:
    import numpy as np

    weights = np.array(magnitudes)
    total = weights.sum()
    rows_at_once = max(1, _CHUNK_CELLS // len(magnitudes))
    at_least_as_far = 0
    for start in range(0, RESAMPLES, rows_at_once):
        rows = min(rows_at_once, RESAMPLES - start)
        is_positive = rng.integers(0, 2, size=(rows, len(magnitudes)), dtype=np.int8)
        sums = 2.0 * (is_positive @ weights) - total
        at_least_as_far += int(np.count_nonzero(np.abs(sums) >= threshold))
    return (at_least_as_far + 1) / (RESAMPLES + 1)
