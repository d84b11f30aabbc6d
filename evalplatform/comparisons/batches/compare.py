"""Two batches of one project compared, scenario by scenario, in one pass over both."""

from collections import Counter
from collections.abc import Callable

from evalplatform.comparisons.batches.records import (
    CHANGE_CLASSES,
    BatchComparison,
    ChangeClass,
    ComparisonVerdict,
    IncomparableReason,
    ScenarioChange,
)
from evalplatform.comparisons.batches.run_sets import RunSetTally
from evalplatform.comparisons.batches.scenario_change import scenario_change
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns, ScenarioPair, ScenarioSide, run_set_count, scenario_pairs
from evalplatform.kernel.errors import InputError
from evalplatform.runs.records import Batch, ScanCoverage

CHANGED: tuple[ChangeClass, ...] = ("newly_passing", "degraded", "path_drift", "dropped", "added")
"""What makes two batches differ where nothing is newly failing."""


def compare_batches(
    baseline: BatchRuns, candidate: BatchRuns, *, on_row: Callable[[ScenarioChange], None] | None = None
) -> BatchComparison:
    """Compare a candidate batch with a baseline batch.

    Both are read once, side by side, with one scenario's runs in memory; kept are counts and the rows that a report has to name. Of each
    scenario one run a side decides: the most recent that was not left ungraded. Run sets are reported and decide nothing.

    What a partial batch does not have was neither dropped nor added: it was not asked for. Such scenarios are counted, and left out.

    Args:
        baseline: what the candidate is compared with.
        candidate: the batch in question.
        on_row: is given every scenario's row as it is made, the unchanged ones too, in the order of their ids; none of those left out.

    Returns:
        The comparison; `incomparable`, with nothing read, where a batch has expired.

    Raises:
        InputError: the batches are of different projects, or the runs of one are not in the order of scenario and run.
    """
    _refuse_other_projects(baseline.batch, candidate.batch)
    expired = _expired(baseline.batch, candidate.batch)
    if expired is not None:
        return BatchComparison(
            baseline=baseline.batch,
            candidate=candidate.batch,
            verdict="incomparable",
            incomparable_reason=expired,
            counts={},
            baseline_coverage=baseline.batch.coverage,
            candidate_coverage=candidate.batch.coverage,
        )
    tally = _Tally(baseline.batch, candidate.batch)
    for pair in scenario_pairs(baseline, candidate):
        row = tally.add(pair)
        if on_row is not None and row is not None:
            on_row(row)
    return tally.comparison()


class _Tally:
    """Takes in pair after pair; what it holds grows with the rows that are named, not with the scenarios."""

    def __init__(self, baseline: Batch, candidate: Batch) -> None:
        self._baseline, self._candidate = baseline, candidate
        self._counts: Counter[ChangeClass] = Counter()
        self._could_not_run = self._differing_legs = self._uncompared_breaches = 0
        self._not_run_in_baseline = self._not_run_in_candidate = 0
        self._coverage = [ScanCoverage(), ScanCoverage()]
        self._run_sets = RunSetTally()
        self._kept: list[ScenarioChange] = []

    def add(self, pair: ScenarioPair) -> ScenarioChange | None:
        """Take in one scenario and return its row; None where it is left out, since a partial batch was not asked for it."""
        sides = (pair.baseline, pair.candidate)
        self._coverage = [
            coverage if side is None else coverage.with_runs(side.runs) for coverage, side in zip(self._coverage, sides, strict=True)
        ]
        if self._leaves_out(pair):
            self._uncompared_breaches += _uncompared_breaches(pair.candidate, None)
            return None
        before, after = (
            None if side is None else run_set_count(side, is_compacted=batch.retention == "compacted")
            for side, batch in zip(sides, (self._baseline, self._candidate), strict=True)
        )
        row = scenario_change(pair, before, after)
        drop = None if before is None or after is None else self._run_sets.add(pair.scenario_id, before, after)
        self._counts[row.change] += 1
        self._could_not_run += row.change == "newly_failing" and "candidate" in row.could_not_run
        self._differing_legs += row.legs_differ
        self._uncompared_breaches += _uncompared_breaches(pair.candidate, row)
        if drop is not None or has_to_be_named(row):
            self._kept.append(row)
        return row

    def _leaves_out(self, pair: ScenarioPair) -> bool:
        """Count a scenario that a partial batch was not asked for, and return whether it is one."""
        not_in_baseline = pair.baseline is None and self._baseline.is_partial
        not_in_candidate = pair.candidate is None and self._candidate.is_partial
        self._not_run_in_baseline += not_in_baseline
        self._not_run_in_candidate += not_in_candidate
        return not_in_baseline or not_in_candidate

    def comparison(self) -> BatchComparison:
        """Return what all of it comes to."""
        counts = {change: self._counts[change] for change in CHANGE_CLASSES}
        compared = sum(counts.values()) - sum(counts[change] for change in ("dropped", "added", "not_compared"))
        verdict, reason = _verdict(counts, compared)
        return BatchComparison(
            baseline=self._baseline,
            candidate=self._candidate,
            verdict=verdict,
            incomparable_reason=reason,
            counts=counts,
            could_not_run=self._could_not_run,
            compared=compared,
            changes=tuple(sorted(self._kept, key=lambda row: CHANGE_CLASSES.index(row.change))),  # stable: by id within a class
            differing_legs=self._differing_legs,
            uncompared_breaches=self._uncompared_breaches,
            not_run_in_baseline=self._not_run_in_baseline,
            not_run_in_candidate=self._not_run_in_candidate,
            baseline_coverage=self._coverage[0],
            candidate_coverage=self._coverage[1],
            run_sets=self._run_sets.report(),
        )


def has_to_be_named(row: ScenarioChange) -> bool:
    """Return whether a report names the scenario whatever its run sets show; all other unchanged ones are counted alone."""
    if row.change != "unchanged" or row.within_tolerance or row.new_violations or row.resolved_violations:
        return True
    return row.tolerances_differ


def _verdict(counts: dict[ChangeClass, int], compared: int) -> tuple[ComparisonVerdict, IncomparableReason | None]:
    if compared == 0:
        return "incomparable", "nothing_compared"
    if counts["newly_failing"]:
        return "regressed", None
    if counts["not_compared"]:
        return "incomparable", "partly_compared"
    if any(counts[change] for change in CHANGED):
        only_better = not any(counts[change] for change in CHANGED if change != "newly_passing")
        return "improved" if only_better else "changed", None
    return "clean", None


def _uncompared_breaches(side: ScenarioSide | None, row: ScenarioChange | None) -> int:
    if side is None:
        return 0
    compared = None if row is None or row.new_violations is None else side.compared_run
    return sum(bool(run.found_violations) for run in side.runs if run is not compared)


def _expired(baseline: Batch, candidate: Batch) -> IncomparableReason | None:
    if baseline.retention == "expired":
        return "baseline_expired"
    return "candidate_expired" if candidate.retention == "expired" else None


def _refuse_other_projects(baseline: Batch, candidate: Batch) -> None:
    before, after = baseline.header, candidate.header
    if (before.tenant, before.project) == (after.tenant, after.project):
        return
    named = [header.project if before.tenant == after.tenant else f"{header.tenant}/{header.project}" for header in (before, after)]
    raise InputError(
        f"{baseline.id} is a batch of the project {named[0]!r} and {candidate.id} one of {named[1]!r}: "
        "only batches of one project can be compared."
    )
