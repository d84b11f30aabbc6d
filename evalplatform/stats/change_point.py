"""Where the results of one scenario changed: a cut between two runs, calibrated exactly for any pass rate."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb

FEWEST_RUNS = 8
FEWEST_A_SIDE = 4
LEVEL = Fraction(9, 200)
"""0.045: at most 4.13% of unchanged pools of 20 runs are cut, whatever their pass rate; that is the printed 4.1%."""


def runs_since_change(oldest_to_newest: Sequence[bool]) -> int | None:
    """Return how many of the newest runs stand after the last change, or None where no change is seen.

    Over every split with at least four runs on each side the two-sided Fisher p-value is taken, and the least of them is compared with what
    the same passes in random order show at most 4.5% of the time. The part after the cut is looked at again until no cut is left. Of splits
    that tie, the one with the shortest newest part is taken.

    Args:
        oldest_to_newest: whether each run passed, in the order of time.

    Returns:
        At least 4; None for fewer than 8 runs.

    Example:
        >>> runs_since_change([True] * 15 + [False] * 5)
        5

    References:
        Pettitt, Applied Statistics 28(2), 1979 (a conditional test of a change point), calibrated here by counting.
    """
    kept = list(oldest_to_newest)
    while (cut := _cut(kept)) is not None:
        kept = kept[cut:]
    return None if len(kept) == len(oldest_to_newest) else len(kept)


@lru_cache(maxsize=4_096)
def cut_threshold(runs: int, passed: int) -> Fraction | None:
    """Return the largest least p-value that counts as a change among so many runs and passes; None where none is rare enough."""
    found = None
    for level in sorted({split_p(before, first, runs, passed) for before, first in _splits(runs, passed)}):
        if chance_of_a_split_at(level, runs, passed) > LEVEL:
            break
        found = level
    return found


def chance_of_a_split_at(level: Fraction, runs: int, passed: int) -> Fraction:
    """Return how often the passes in random order have a split whose p-value is at most `level`, by counting the orders that have none."""
    orders = [0] * (passed + 1)  # orders of the runs so far, by their passes, that came to no such split
    orders[0] = 1
    for before in range(1, runs + 1):
        orders = [orders[first] + (orders[first - 1] if first else 0) for first in range(passed + 1)]
        if FEWEST_A_SIDE <= before <= runs - FEWEST_A_SIDE:
            for first in range(max(0, passed - (runs - before)), min(before, passed) + 1):
                if split_p(before, first, runs, passed) <= level:
                    orders[first] = 0
    return 1 - Fraction(orders[passed], comb(runs, passed))


@lru_cache(maxsize=65_536)
def split_p(before: int, passed_before: int, runs: int, passed: int) -> Fraction:
    """Return the two-sided Fisher p-value of a split: how often tables no likelier than this one come by chance, exact.

    Args:
        before: runs before the split.
        passed_before: how many of them passed.
        runs: all runs.
        passed: all passes.
    """
    after = runs - before
    tables = [comb(before, first) * comb(after, passed - first) for first in range(max(0, passed - after), min(before, passed) + 1)]
    seen = comb(before, passed_before) * comb(after, passed - passed_before)
    return Fraction(sum(table for table in tables if table <= seen), comb(runs, passed))


def _cut(results: Sequence[bool]) -> int | None:
    """Return how many runs stand before the change, or None where there is none."""
    runs, passed = len(results), sum(results)
    if runs < FEWEST_RUNS:
        return None
    threshold = cut_threshold(runs, passed)
    if threshold is None:
        return None
    p_values = {before: split_p(before, sum(results[:before]), runs, passed) for before in range(FEWEST_A_SIDE, runs - FEWEST_A_SIDE + 1)}
    least = min(p_values.values())
    return max(before for before, p in p_values.items() if p == least) if least <= threshold else None


def _splits(runs: int, passed: int) -> list[tuple[int, int]]:
    return [
        (before, first)
        for before in range(FEWEST_A_SIDE, runs - FEWEST_A_SIDE + 1)
        for first in range(max(0, passed - (runs - before)), min(before, passed) + 1)
    ]
