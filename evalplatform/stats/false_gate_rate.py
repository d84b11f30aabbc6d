"""How often a gate fails though nothing changed, exactly, given all margins: the number that the 1-in-20 bound is a bound of."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.fisher_drop import Margins, drop_tails, most_baseline_passes, table_ways, ways
from evalplatform.stats.pass_counts import PassCount
from evalplatform.stats.stratified_drop import TRIMMED, exact_stratified_drop_p
from evalplatform.stats.tarone import tarone_threshold

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

SINGLE_LEVEL = Fraction(1, 25)
SUITE_LEVEL = Fraction(1, 100)
NEARLY_THE_LEVEL = 1e-9
"""A tail this close to the level, relatively, is compared in fractions: the convolution is exact to about 1e-15."""


class FalseGateRate(Value):
    """How often a gate in which nothing changed fails, by what makes it fail.

    Attributes:
        single: that a scenario is flagged by itself.
        suite_only: that none is, and the suite test fails the gate.
    """

    single: float = Field(ge=0, le=1)
    suite_only: float = Field(ge=0, le=1)

    @property
    def total(self) -> float:
        """That the gate fails."""
        return self.single + self.suite_only


def false_gate_rate(
    margins: Sequence[Margins], *, single_level: Fraction = SINGLE_LEVEL, suite_level: Fraction = SUITE_LEVEL
) -> FalseGateRate:
    """Return how often a gate over scenarios with these margins fails though nothing changed.

    The passes of each scenario are dealt to the two sides at random, independently of the other scenarios. Flags are those at Tarone's
    threshold; the suite test is then the stratified test over all scenarios, since it decides alone only where none of them is flagged.

    Args:
        margins: of the scenarios of the standard tier that have enough runs to be verified; those where every run passed, or none, may
            be among them and change nothing.
        single_level: the level that Tarone's K divides.
        suite_level: the level of the suite test.

    Returns:
        The two rates, with an absolute error below 1e-12.

    Example:
        >>> round(false_gate_rate([(10, 10, 16), (10, 10, 15)]).total, 6)
        0.016254

    References:
        Tarone, Biometrics 46(2), 1990; Mehta, Patel and Gray, Journal of the American Statistical Association 80(392), 1985.
    """
    threshold = tarone_threshold([Fraction(drop_tails(each)[0], ways(each)) for each in margins], level=single_level)
    strata = Counter(each for each in margins if len(drop_tails(each)) > 1)
    unflagged = {each: _tables_not_flagged(each, threshold) for each in strata}
    none_flagged = prod(
        Fraction(sum(table_ways(each, passes) for passes in unflagged[each]), ways(each)) ** number for each, number in strata.items()
    )
    critical = _fewest_passes_of_a_suite_drop(strata, suite_level)
    chances, begins_at = _sum_of_passes(strata, unflagged)
    suite_only = 0.0 if critical is None else float(chances[max(0, critical - begins_at) :].sum())
    return FalseGateRate(single=float(1 - none_flagged), suite_only=suite_only)


def _tables_not_flagged(margins: Margins, threshold: Fraction) -> range:
    """Return the baseline's passes, from the least on, whose Fisher p-value is above the threshold."""
    most = most_baseline_passes(margins)
    tails = drop_tails(margins)
    flagged = sum(tail * threshold.denominator <= threshold.numerator * ways(margins) for tail in tails)
    return range(most - len(tails) + 1, most - flagged + 1)


def _fewest_passes_of_a_suite_drop(strata: Counter[Margins], level: Fraction) -> int | None:
    """Return the fewest passes on the baseline's side that are a suite drop; None where even the most are none."""
    whole = {each: _tables_not_flagged(each, Fraction(-1)) for each in strata}
    chances, begins_at = _sum_of_passes(strata, whole)
    tail, fewest = 0.0, None
    for passes in range(begins_at + len(chances) - 1, begins_at - 1, -1):
        tail += float(chances[passes - begins_at])
        is_near = abs(tail - float(level)) <= NEARLY_THE_LEVEL * float(level)
        if (_exact_tail(strata, passes) if is_near else tail) > level:
            break
        fewest = passes
    return fewest


def _exact_tail(strata: Counter[Margins], observed: int) -> Fraction:
    """Return the tail at `observed` in fractions, through any tables that have these margins and so many baseline passes."""
    left = observed - sum(number * max(0, each[2] - each[1]) for each, number in strata.items())
    sides = []
    for runs, candidate_runs, passes in strata.elements():
        least, most = max(0, passes - candidate_runs), min(runs, passes)
        given = min(left, most - least)
        left -= given
        baseline = PassCount(passed=least + given, graded=runs)
        sides.append((baseline, PassCount(passed=passes - least - given, graded=candidate_runs)))
    return exact_stratified_drop_p(sides)


def _sum_of_passes(strata: Counter[Margins], kept: dict[Margins, range]) -> "tuple[NDArray[float64], int]":
    """Return the chances of the baseline's passes in all scenarios together where each stays within what is kept, and the least sum."""
    import numpy as np

    chances, begins_at = np.ones(1), 0
    for margins, number in strata.items():
        tables = np.array([table_ways(margins, passes) / ways(margins) for passes in kept[margins]])
        for _ in range(number):
            chances = np.convolve(chances, tables)
            begins_at += kept[margins].start
            lasting = np.flatnonzero(chances > TRIMMED)
            begins_at += int(lasting[0])
            chances = chances[lasting[0] : lasting[-1] + 1]
    return chances, begins_at
