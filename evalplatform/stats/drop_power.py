"""How surely a drop of a given size is caught, and how few runs that takes. In fractions from end to end: a power of 0.8 is 0.8."""

from fractions import Fraction
from math import comb

from evalplatform.stats.fisher_drop import fisher_drop_p
from evalplatform.stats.pass_counts import PassCount, is_drop

WANTED_POWER = Fraction(4, 5)
FEWEST_RUNS = 2
MOST_RUNS = 50
VERIFIABLE_LEVEL = Fraction(1, 25)


def is_verifiable(baseline_graded: int, candidate_graded: int, *, level: Fraction = VERIFIABLE_LEVEL) -> bool:
    """Return whether so many graded runs a side could show anything: whether a fall from all passed to none would reach `level`.

    It looks at counts alone, so no outcome can trip it. A side without a graded run can show nothing.

    Example:
        >>> is_verifiable(3, 4), is_verifiable(3, 3)
        (True, False)
    """
    if not (baseline_graded and candidate_graded):
        return False
    return level.denominator <= level.numerator * comb(baseline_graded + candidate_graded, baseline_graded)


def significance_power(baseline: PassCount, runs: int, *, pass_rate: Fraction, threshold: Fraction) -> Fraction:
    """Return how often `runs` runs of a candidate that passes at `pass_rate` show a drop whose Fisher p-value is at most `threshold`.

    The baseline is held at what was counted.

    Raises:
        NoGradedRunsError: the baseline has no graded run, or `runs` is 0.

    Example:
        >>> baseline = PassCount(passed=20, graded=20)
        >>> float(significance_power(baseline, 12, pass_rate=Fraction(1, 2), threshold=Fraction(1, 150)))
        0.80615234375
    """
    return sum(
        (
            _exactly(passed, runs, pass_rate)
            for passed in range(runs + 1)
            if fisher_drop_p(baseline, PassCount(passed=passed, graded=runs)) <= threshold
        ),
        Fraction(0),
    )


def any_drop_power(baseline: PassCount, runs: int, *, pass_rate: Fraction) -> Fraction:
    """Return how often `runs` runs of a candidate that passes at `pass_rate` pass less often than the baseline did, compared exactly.

    Raises:
        NoGradedRunsError: the baseline has no graded run, or `runs` is 0.
    """
    return sum(
        (_exactly(passed, runs, pass_rate) for passed in range(runs + 1) if is_drop(baseline, PassCount(passed=passed, graded=runs))),
        Fraction(0),
    )


def fewest_runs_to_catch(
    baseline: PassCount, *, target_drop_points: int, threshold: Fraction | None, power: Fraction = WANTED_POWER
) -> int | None:
    """Return the fewest runs of a candidate that catch a drop of the target size often enough, given the baseline's history.

    The history's pass rate is taken as the true one. Power does not rise with every further run, so the fewest is the first that suffices,
    and one more may fall short again.

    Args:
        baseline: the pooled history.
        target_drop_points: the fall in the pass rate to catch, in points.
        threshold: the p-value at which a drop counts; None for the rule of critical scenarios, where any drop does.
        power: how often it is to be caught.

    Returns:
        From 2 to 50; None where the pass rate cannot fall so far, or where no number of runs suffices: the scenario is not covered.

    Raises:
        NoGradedRunsError: the history has no graded run.

    Example:
        >>> fewest_runs_to_catch(PassCount(passed=20, graded=20), target_drop_points=50, threshold=Fraction(1, 25) / 6)
        12
    """
    dropped_rate = baseline.pass_rate - Fraction(target_drop_points, 100)
    if dropped_rate < 0:
        return None
    for runs in range(FEWEST_RUNS, MOST_RUNS + 1):
        if not is_verifiable(baseline.graded, runs):
            continue
        caught = (
            any_drop_power(baseline, runs, pass_rate=dropped_rate)
            if threshold is None
            else significance_power(baseline, runs, pass_rate=dropped_rate, threshold=threshold)
        )
        if caught >= power:
            return runs
    return None


def _exactly(passed: int, runs: int, pass_rate: Fraction) -> Fraction:
    return comb(runs, passed) * pass_rate**passed * (1 - pass_rate) ** (runs - passed)
