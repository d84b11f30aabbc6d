"""What repeated runs of one scenario can show: flakes that are caught, failures that a steady fail rate does not explain."""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import comb

from pydantic import Field

from evalplatform.kernel.values import Value

DRIFT_LEVEL = Fraction(1, 20)


class DriftRule(Value):
    """From how many failures on a night has drifted, and how often that happens though nothing changed.

    `null_rate` is above the level where no number of failures would be rare enough: one run cannot show a drift of a scenario that fails
    one time in ten, and then every failure counts, at the chance stated.
    """

    drift_at: int = Field(ge=0)
    null_rate: float = Field(ge=0, le=1)


def exact_rate(rate: float | Fraction) -> Fraction:
    """Return the rate as a fraction; a float stands for the decimals it is written with, so 0.05 is 1/20 and not the nearest float.

    Raises:
        ValueError: outside [0, 1].
    """
    exact = rate if isinstance(rate, Fraction) else Fraction(repr(rate))
    if not 0 <= exact <= 1:
        raise ValueError(f"{rate!r} is no rate; it must lie in [0, 1]")
    return exact


def flake_detection_rate(fail_rate: float | Fraction, runs: int) -> Fraction:
    """Return how often `runs` independent runs of a scenario show both a pass and a failure: 1 - p^n - (1-p)^n.

    A flake is caught only when its runs disagree. Five runs catch a scenario that fails every second time with 93.75%: it passes five times
    with 3.125%, and fails five times with 3.125% too.

    Args:
        fail_rate: the chance that a run fails, in [0, 1].
        runs: how often the scenario is run; none and one show nothing.

    Raises:
        ValueError: a rate outside [0, 1], or a negative number of runs.

    Example:
        >>> flake_detection_rate(0.5, 5)
        Fraction(15, 16)
    """
    if runs < 0:
        raise ValueError(f"{runs} runs")
    rate = exact_rate(fail_rate)
    return Fraction(0) if runs == 0 else 1 - rate**runs - (1 - rate) ** runs


def drift_rule(graded: int, *, fail_rate: float | Fraction, level: Fraction = DRIFT_LEVEL) -> DriftRule:
    """Return from how many failures of `graded` runs on a scenario has drifted: the fewest that a steady fail rate shows rarely enough.

    Compared in fractions: a fail rate of 0.05 with one run stands exactly at 0.05, so one failure is a drift.

    Args:
        graded: the graded runs of the night. Without one the night counts as drifted: a check that could not look must not read as clean.
        fail_rate: how often a run fails while nothing has changed.
        level: how often a steady scenario may be called drifted.

    Returns:
        The rule. Where even `graded` failures are likelier than `level`, they are what it takes, and `null_rate` says the chance.

    Raises:
        ValueError: a rate outside [0, 1], or a negative number of runs.

    Example:
        >>> drift_rule(4, fail_rate=0.1)
        DriftRule(drift_at=3, null_rate=0.0037)
    """
    if graded < 0:
        raise ValueError(f"{graded} graded runs")
    rate = exact_rate(fail_rate)
    if graded == 0:
        return DriftRule(drift_at=0, null_rate=1.0)
    tails = [_at_least(failures, graded, rate) for failures in range(1, graded + 1)]
    drift_at = next((failures for failures, tail in enumerate(tails, start=1) if tail <= level), graded)
    return DriftRule(drift_at=drift_at, null_rate=float(tails[drift_at - 1]))


def chance_of_at_least(events: int, rates: Sequence[float | Fraction]) -> Fraction:
    """Return how often at least so many of several independent events happen, each with a rate of its own; exact.

    References:
        Hong, Computational Statistics and Data Analysis 59, 2013 (the Poisson-binomial distribution).
    """
    chances = reduce(_with_one_more, (exact_rate(rate) for rate in rates), [Fraction(1)])
    return sum(chances[max(0, events) :], Fraction(0))


def _with_one_more(chances: list[Fraction], rate: Fraction) -> list[Fraction]:
    """Return the chances of 0, 1, 2, ... events once one more event may happen."""
    without, with_it = [*chances, Fraction(0)], [Fraction(0), *chances]
    return [(1 - rate) * stays + rate * comes for stays, comes in zip(without, with_it, strict=True)]


def _at_least(failures: int, graded: int, rate: Fraction) -> Fraction:
    exactly = (comb(graded, each) * rate**each * (1 - rate) ** (graded - each) for each in range(failures, graded + 1))
    return sum(exactly, Fraction(0))
