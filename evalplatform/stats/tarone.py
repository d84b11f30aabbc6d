"""Tarone's correction: tests that could not reject whatever their outcome do not count."""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction


def tarone_k(smallest_p_values: Sequence[Fraction], *, level: Fraction) -> int:
    """Return by how much the level is divided: the smallest K for which at most K tests can reach `level` / K at all.

    It depends on margins alone, never on outcomes, so the chance of any false rejection stays at most `level`. K can be larger than the
    number of tests that reach the final threshold (two tests that reach 0.03 at best, at the level 0.04: K is 2, and neither can reach
    0.02); it is not lowered then.

    Args:
        smallest_p_values: of each test the least p-value that its margins allow.
        level: the chance of any false rejection.

    Returns:
        At least 1, also without a test.

    Example:
        >>> tarone_k([Fraction(1, 184756), Fraction(21, 1292)], level=Fraction(1, 25))
        2

    References:
        Tarone, A Modified Bonferroni Method for Discrete Data, Biometrics 46(2), 1990.
    """
    # At most K tests reach level / K when the K-th from 0, in order, does not. With K both what is allowed rises and what is reached falls,
    # so from the first K that suffices on, every one does.
    ordered = sorted(smallest_p_values, key=lambda p: (float(p), p))  # floats order nearly all of them, much faster
    return 1 + bisect_left(range(1, len(ordered)), True, key=lambda k: ordered[k] > level / k)


def tarone_threshold(smallest_p_values: Sequence[Fraction], *, level: Fraction) -> Fraction:
    """Return the p-value at or below which a test rejects: `level` divided by `tarone_k`, exact."""
    return level / tarone_k(smallest_p_values, level=level)
