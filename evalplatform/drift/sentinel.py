"""The sentinel: whether an agent still does what its recordings did.

Two legs stand beside one another: one replayed run of each scenario's recording, which shows that its checks still work, and several live
runs. A scenario has drifted where at least k of its graded live runs fail, k being the fewest failures that a scenario failing at the
reference rate shows on at most one night in twenty; and likewise where the tool path of k of them differs from the recording's.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from evalplatform.runs.night import DeadSensor, NightReason, NightState, WatchedScenario
from evalplatform.runs.records import Run
from evalplatform.runs.tolerance import PathTolerance, path_drifts
from evalplatform.stats.repeated_runs import drift_rule


class NightReading(NamedTuple):
    """How a night that ran came out: its state, and the reason where it is a failed check."""

    state: NightState
    reason: NightReason | None = None


def watched_scenario(
    scenario_id: str, live: Sequence[Run], *, baseline: Run | None, tolerance: PathTolerance, fail_rate: float | Fraction
) -> WatchedScenario:
    """Return what a night saw of a scenario whose live leg ran.

    Agent errors and budget stops count as failures; what could not run, or was stopped by a cap, is left out and counted. Without a graded
    live run it has drifted: a check that could not look must not read as quiet.

    Args:
        scenario_id: which.
        live: its live runs, those that were never made included.
        baseline: its replayed run, which passed; None for a scenario that has no recording, whose path is then not watched.
        tolerance: how far its path may differ; both legs share one declaration.
        fail_rate: the reference rate, in [0, 1].

    Raises:
        ValueError: a rate outside [0, 1].
    """
    graded = [run for run in live if run.verdict is not None]
    rule = drift_rule(len(graded), fail_rate=fail_rate)
    paths = [] if baseline is None else [run for run in graded if run.trajectory_digest is not None]
    path_rule = drift_rule(len(paths), fail_rate=fail_rate) if paths else None
    return WatchedScenario(
        scenario_id=scenario_id,
        replay_path=baseline is not None,
        graded=len(graded),
        failed=sum(run.verdict == "failed" for run in graded),
        could_not_run=sum(run.outcome == "harness_error" for run in live),
        ungraded=sum(run.outcome == "ungraded" for run in live),
        drift_at=rule.drift_at,
        null_rate=rule.null_rate,
        path_graded=len(paths),
        path_differing=0 if baseline is None else sum(path_drifts(baseline.tools, run.tools, tolerance) for run in paths),
        path_drift_at=None if path_rule is None else path_rule.drift_at,
        path_null_rate=None if path_rule is None else path_rule.null_rate,
    )


def dead_scenario(scenario_id: str, dead: DeadSensor) -> WatchedScenario:
    """Return what a night says of a scenario whose live leg did not run."""
    return WatchedScenario(scenario_id=scenario_id, dead=dead, replay_path=False)


def night_reading(scenarios: Iterable[WatchedScenario]) -> NightReading:
    """Return how a night came out: flagged where a scenario drifted; else a failed check where one could not be watched; else clean.

    Raises:
        ValueError: there is no scenario: nothing was checked.
    """
    found = list(scenarios)
    if not found:
        raise ValueError("a night of no scenario has no answer")
    if any(scenario.drifted for scenario in found):
        return NightReading("checked_flagged")
    return NightReading("check_failed", "dead_sensor") if any(scenario.dead for scenario in found) else NightReading("checked_clean")
