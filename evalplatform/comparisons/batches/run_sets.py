"""Run sets: what several runs a scenario and side show of a drop, and what chance alone would. It decides nothing.

Every test is one-sided and exact; scenarios are taken as independent. A scenario whose two sides have one graded run each is not tested: a
flip of it is a flip, and no statistics.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import fsum

from evalplatform.comparisons.batches.records import RunSetCount, RunSetDrop, RunSetReading, RunSetReport, SmallestDrop, can_be_tested
from evalplatform.stats.boschloo_drop import boschloo_drop_p, can_flag, chance_of_a_flag, is_flagged, most_passes_flagged
from evalplatform.stats.fisher_drop import Margins, margins_of
from evalplatform.stats.pass_counts import PassCount, is_drop
from evalplatform.stats.poisson_binomial import chance_of_as_many


class RunSetTally:
    """Takes in scenario after scenario, and keeps the drops and what is counted: never a row of a scenario without a drop."""

    def __init__(self) -> None:
        self._tested: Counter[Margins] = Counter()
        self._not_tested = 0
        self._ungraded_sides: list[str] = []
        self._drops: list[RunSetDrop] = []
        self._most_runs = [0, 0]
        self._could_not_run = 0
        self._missing = 0

    def add(self, scenario_id: str, baseline: RunSetCount, candidate: RunSetCount) -> RunSetDrop | None:
        """Take in a scenario that both batches have; return its drop, or None where the candidate passes no less often."""
        sides = (baseline, candidate)
        self._most_runs = [max(most, side.runs) for most, side in zip(self._most_runs, sides, strict=True)]
        self._could_not_run += sum(side.could_not_run for side in sides)
        self._missing += sum(side.missing for side in sides)
        if not (baseline.passes.graded and candidate.passes.graded):
            self._ungraded_sides.append(scenario_id)
            return None
        if can_be_tested(baseline.passes, candidate.passes):
            self._tested[margins_of(baseline.passes, candidate.passes)] += 1
        else:
            self._not_tested += 1
        if not is_drop(baseline.passes, candidate.passes):
            return None
        drop = run_set_drop(scenario_id, baseline, candidate)
        self._drops.append(drop)
        return drop

    def report(self) -> RunSetReport | None:
        """Return the report over all scenarios taken in; None where no side has more than one run of any."""
        if max(self._most_runs) <= 1:
            return None
        numbers_by_rate: Counter[float] = Counter()
        for margins, scenarios in self._tested.items():
            numbers_by_rate[_flag_rate(margins)] += scenarios
        flagged = sum(drop.reading == "drop" for drop in self._drops)
        return RunSetReport(
            baseline_runs=self._most_runs[0],
            candidate_runs=self._most_runs[1],
            tested=self._tested.total(),
            not_tested=self._not_tested,
            ungraded_sides=tuple(self._ungraded_sides),
            drops=tuple(self._drops),
            expected_flags=fsum(rate * number for rate, number in numbers_by_rate.items()),
            chance_of_as_many=chance_of_as_many(flagged, numbers_by_rate),
            smallest_drops=_smallest_drops(self._tested),
            could_not_run=self._could_not_run,
            missing=self._missing,
        )


def run_set_drop(scenario_id: str, baseline: RunSetCount, candidate: RunSetCount) -> RunSetDrop:
    """Return the test of one scenario whose candidate passes less often.

    Raises:
        NoGradedRunsError: a side has no graded run.
    """
    before, after = baseline.passes, candidate.passes
    return RunSetDrop(
        scenario_id=scenario_id, baseline=baseline, candidate=candidate, p=boschloo_drop_p(before, after), reading=_reading(before, after)
    )


def _reading(baseline: PassCount, candidate: PassCount) -> RunSetReading:
    if is_flagged(baseline, candidate):
        return "drop"
    return "not_significant" if can_flag(baseline.graded, candidate.graded) else "cannot_flag"


def _smallest_drops(tested: Mapping[Margins, int]) -> tuple[SmallestDrop, ...]:
    scenarios: Counter[tuple[int, int]] = Counter()
    for (baseline_graded, candidate_graded, _), number in tested.items():
        scenarios[baseline_graded, candidate_graded] += number
    return tuple(
        SmallestDrop(
            baseline_graded=baseline_graded,
            candidate_graded=candidate_graded,
            most_passes=most_passes_flagged(baseline_graded, candidate_graded),
            scenarios=number,
        )
        for (baseline_graded, candidate_graded), number in sorted(scenarios.items())
    )


@lru_cache(maxsize=65_536)
def _flag_rate(margins: Margins) -> float:
    """Return how often the runs of a scenario would be flagged if they were dealt to the two sides at random."""
    baseline_graded, candidate_graded, passed = margins
    baseline_passed = min(baseline_graded, passed)
    baseline = PassCount(passed=baseline_passed, graded=baseline_graded)
    return float(chance_of_a_flag(baseline, PassCount(passed=passed - baseline_passed, graded=candidate_graded)))
