"""The suite test's p-value a second time, in whole numbers alone: bounds that hold by construction, and the exact fraction.

The bounds come from convolving fixed-point numbers that are always rounded down. All chances together are 1, so whatever is not there in
the end was lost by rounding, wherever that was: the tail lies between what is left of it and that plus all that was lost.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

Table = tuple[int, int, int, int]
"""Passes and graded runs of the baseline, then of the candidate."""

BITS = 192
"""After the point. At 1,000 scenarios of 50 against 50 runs, less than 1e-50 is lost."""
SLOT_BYTES = (2 * BITS + 64) // 8
"""One product of two numbers below 1, with room for the sum of millions of them."""


def tail_bounds(tables: Sequence[Table]) -> tuple[Fraction, Fraction]:
    """Return bounds of how often chance alone puts at least as many of all passes on the baseline's side, given every table's margins."""
    chances, begins_at = [1 << BITS], 0
    for baseline_passed, baseline_runs, candidate_passed, candidate_runs in tables:
        passes = baseline_passed + candidate_passed
        least, most = max(0, passes - candidate_runs), min(baseline_runs, passes)
        begins_at += least
        if least == most:
            continue
        ways = comb(baseline_runs + candidate_runs, passes)
        one = [(comb(baseline_runs, a) * comb(candidate_runs, passes - a) << BITS) // ways for a in range(least, most + 1)]
        chances, shift = _trimmed(_product(chances, one))
        begins_at += shift
    observed = sum(table[0] for table in tables)
    tail = sum(chance for place, chance in enumerate(chances, start=begins_at) if place >= observed)
    lost = (1 << BITS) - sum(chances)
    return Fraction(tail, 1 << BITS), min(Fraction(1), Fraction(tail + lost, 1 << BITS))


def exact_tail(tables: Sequence[Table]) -> Fraction:
    """Return the same as a fraction, exactly; slow for hundreds of tables."""
    counts, begins_at = [1], 0
    for baseline_passed, baseline_runs, candidate_passed, candidate_runs in tables:
        passes = baseline_passed + candidate_passed
        least, most = max(0, passes - candidate_runs), min(baseline_runs, passes)
        one = [comb(baseline_runs, a) * comb(candidate_runs, passes - a) for a in range(least, most + 1)]
        longer = [0] * (len(counts) + len(one) - 1)
        for place, count in enumerate(counts):
            for further, ways in enumerate(one):
                longer[place + further] += count * ways
        counts, begins_at = longer, begins_at + least
    observed = sum(table[0] for table in tables)
    return Fraction(sum(counts[max(0, observed - begins_at) :]), sum(counts))


def _product(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the convolution of two rows of fixed-point numbers, each rounded down: one multiplication of two long whole numbers."""
    packed = _packed(left) * _packed(right)
    length = len(left) + len(right) - 1
    data = packed.to_bytes(length * SLOT_BYTES, "little")
    return [int.from_bytes(data[start : start + SLOT_BYTES], "little") >> BITS for start in range(0, length * SLOT_BYTES, SLOT_BYTES)]


def _packed(numbers: Sequence[int]) -> int:
    return int.from_bytes(b"".join(number.to_bytes(SLOT_BYTES, "little") for number in numbers), "little")


def _trimmed(numbers: Sequence[int]) -> tuple[list[int], int]:
    """Return the numbers without the zeros at either end, and how many there were at the beginning."""
    kept = [place for place, number in enumerate(numbers) if number]
    return list(numbers[kept[0] : kept[-1] + 1]), kept[0]
