"""One scenario in two batches: its class, and all that a row says beside it."""

from typing import NamedTuple

from evalplatform.comparisons.batches.records import ChangeClass, ComparedRun, Gap, RunSetCount, ScenarioChange, Side
from evalplatform.comparisons.batches.scenario_pairs import ScenarioPair, ScenarioSide
from evalplatform.comparisons.batches.violations import violation_change
from evalplatform.runs.records import Run
from evalplatform.runs.tolerance import DEFAULT_TOLERANCE, PathTolerance, path_drifts, stricter_tolerance


class _PathChange(NamedTuple):
    changed: bool | None
    drifted: bool


def scenario_change(pair: ScenarioPair, baseline_runs: RunSetCount | None, candidate_runs: RunSetCount | None) -> ScenarioChange:
    """Return a scenario's row, from the most recent run of each side that was not left ungraded.

    Args:
        pair: the scenario in both batches.
        baseline_runs, candidate_runs: the run sets' counts, None where that batch does not have it.
    """
    before, after = _compared_run(pair.baseline), _compared_run(pair.candidate)
    tolerances = (_declared(pair.baseline), _declared(pair.candidate))
    applied = stricter_tolerance(tolerances[0] or DEFAULT_TOLERANCE, tolerances[1] or DEFAULT_TOLERANCE)
    path = _path_change(before, after, applied)
    score_change = _score_change_points(before, after)
    violations = violation_change(before, after)
    return ScenarioChange(
        scenario_id=pair.scenario_id,
        change=_change_class(pair, before, after, score_change, path),
        could_not_run=_could_not_run(before, after),
        baseline_gap=_gap(pair.baseline, before),
        candidate_gap=_gap(pair.candidate, after),
        baseline=_as_compared(before),
        candidate=_as_compared(after),
        baseline_runs=baseline_runs,
        candidate_runs=candidate_runs,
        score_change_points=score_change,
        path_changed=path.changed,
        path_drifted=path.drifted,
        tolerance=applied,
        baseline_tolerance=tolerances[0],
        candidate_tolerance=tolerances[1],
        new_violations=None if violations is None else violations.new,
        resolved_violations=None if violations is None else violations.resolved,
    )


def _change_class(pair: ScenarioPair, before: Run | None, after: Run | None, score_change: float | None, path: _PathChange) -> ChangeClass:
    """Return the first class that fits."""
    if pair.candidate is None:
        return "dropped"
    if pair.baseline is None:
        return "added"
    verdicts = (before and before.verdict, after and after.verdict)
    if verdicts[0] == "passed" and after is not None and after.verdict != "passed":
        return "newly_failing"  # failed, or could not run
    if None in verdicts:
        return "not_compared"
    if verdicts == ("failed", "passed"):
        return "newly_passing"
    if score_change is not None and score_change < 0:
        return "degraded"
    return "path_drift" if path.drifted else "unchanged"


def _path_change(before: Run | None, after: Run | None, tolerance: PathTolerance) -> _PathChange:
    if before is None or after is None or not (_has_path(before) and _has_path(after)):
        return _PathChange(None, False)
    return _PathChange(before.tools != after.tools, path_drifts(before.tools, after.tools, tolerance))


def _has_path(run: Run) -> bool:
    """Return whether a run has a trajectory to compare: what could not run has no path, however much of one was recorded."""
    return run.trajectory_digest is not None and run.outcome != "harness_error"


def _score_change_points(before: Run | None, after: Run | None) -> float | None:
    if before is None or after is None or before.score_points is None or after.score_points is None:
        return None
    return after.score_points - before.score_points


def _could_not_run(before: Run | None, after: Run | None) -> tuple[Side, ...]:
    sides: tuple[tuple[Side, Run | None], ...] = (("baseline", before), ("candidate", after))
    return tuple(side for side, run in sides if run is not None and run.outcome == "harness_error")


def _gap(side: ScenarioSide | None, compared: Run | None) -> Gap | None:
    if side is None or (compared is not None and compared.verdict is not None):
        return None
    if compared is not None:
        return "could_not_run"
    return "ungraded" if any(run.was_made for run in side.runs) else "no_runs"


def _declared(side: ScenarioSide | None) -> PathTolerance | None:
    return None if side is None or side.planned is None else side.planned.tolerance


def _compared_run(side: ScenarioSide | None) -> Run | None:
    return None if side is None else side.compared_run


def _as_compared(run: Run | None) -> ComparedRun | None:
    if run is None:
        return None
    return ComparedRun(
        run_id=run.id,
        order=run.order,
        leg=run.leg,
        outcome=run.outcome,
        reason=run.reason,
        score_points=run.score_points,
        trajectory_digest=run.trajectory_digest,
        tools=run.tools,
    )
