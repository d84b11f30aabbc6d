"""Corrections for testing several hypotheses at once."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

Correction = Literal["holm", "bh"]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted p-values, in the order given; they control the chance of any false rejection in the family.

    Step-down: the p-value of rank i of m (ascending, from 1) is multiplied by m - i + 1, cut at 1 and never below its predecessor.

    Args:
        p_values: unrounded p-values of one family. None is a test that could not be made: it stays None and does not count for m.

    Raises:
        ValueError: a p-value outside [0, 1].

    Example:
        >>> holm([0.01, None, 0.04])
        [0.02, None, 0.04]

    References:
        Holm, Scandinavian Journal of Statistics 6(2), 1979.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    family = _tested(p_values)
    largest = 0.0
    for rank, (p_value, place) in enumerate(family):
        largest = max(largest, min(1.0, (len(family) - rank) * p_value))
        adjusted[place] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the Benjamini-Hochberg adjusted p-values, in the order given; they control the rate of false rejections among rejections.

    Step-up: the p-value of rank i of m (ascending, from 1) is multiplied by m / i, cut at 1 and never above its successor. Valid for
    independent and for positively dependent tests, such as arms that share a baseline.

    Args:
        p_values: unrounded p-values of one family. None is a test that could not be made: it stays None and does not count for m.

    Raises:
        ValueError: a p-value outside [0, 1].

    Example:
        >>> benjamini_hochberg([0.01, None, 0.04])
        [0.02, None, 0.04]

    References:
        Benjamini and Hochberg, Journal of the Royal Statistical Society B 57(1), 1995.
    """
    adjusted: list[float | None] = [None] * len(p_values)
    family = _tested(p_values)
    smallest = 1.0
    for rank in range(len(family), 0, -1):
        p_value, place = family[rank - 1]
        smallest = min(smallest, p_value * (len(family) / rank))
        adjusted[place] = smallest
    return adjusted


CORRECTIONS: Mapping[Correction, Callable[[Sequence[float | None]], list[float | None]]] = MappingProxyType(
    {"holm": holm, "bh": benjamini_hochberg}
)
"""The corrections by the name that a project file, a flag and an artifact use."""


def _tested(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    """Return the known p-values with their places, smallest first."""
    family = sorted((p_value, place) for place, p_value in enumerate(p_values) if p_value is not None)
    for p_value, place in family:
        if not 0 <= p_value <= 1:
            raise ValueError(f"p-value {place + 1} of {len(p_values)} is {p_value!r}; it must lie in [0, 1]")
    return family
