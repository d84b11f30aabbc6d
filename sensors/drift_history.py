"""Has the drift history and the standings made anew when nights have ended."""

from pathlib import Path

import dagster as dg

from assets.drift_history import HISTORY_JOB, HISTORY_KEY, STANDINGS_KEY
from assets.monitoring_reconcile import recent_nights
from assets.unfinished import UNFINISHED_RUNS
from evalplatform.kernel.digests import json_digest
from evalplatform.project.load import load_project
from evalplatform.stages.drift_history import FEATURE
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.wiring import OpenedProject

SENSOR_NAME = "drift_history"
EVERY_SECONDS = 60
MOST_ATTEMPTS = 3
NIGHTS_TAG = "evalplatform/nights"
"""Of a run of the history: the digest of the nights that it was asked for after."""

_DESCRIPTION = (
    "Has the drift history and the standings made anew, in one run at a time, when a night has ended: one of Dagster's, of `evalplatform "
    f"sentinel`, or a missed one. What failed is tried {MOST_ATTEMPTS} times. Asks no agent."
)


def drift_history_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor. It runs from the start. Its cursor is the digest of the nights that it last saw a history asked for of."""

    @dg.sensor(
        name=SENSOR_NAME,
        job=HISTORY_JOB,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def nights_ended(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        project = load_project(project_file)
        with OpenedProject(project) as opened:
            digest = _digest(opened.monitoring_context())
        if digest is None:
            return dg.SkipReason("No night has ended yet.")
        if context.instance.get_runs_count(dg.RunsFilter(job_name=HISTORY_JOB.name, statuses=list(UNFINISHED_RUNS))):
            return dg.SkipReason("A run of the history is under way; it may have begun before the last night ended.")
        failed = context.instance.get_runs_count(dg.RunsFilter(tags={NIGHTS_TAG: digest}, statuses=[dg.DagsterRunStatus.FAILURE]))
        if digest == context.cursor and not 0 < failed < MOST_ATTEMPTS:
            return dg.SkipReason("No night has ended since the history was last asked for.")
        wanted = [STANDINGS_KEY] if FEATURE in project.entitlements.withheld else [HISTORY_KEY, STANDINGS_KEY]
        request = dg.RunRequest(run_key=f"drift_history:{digest}:{failed + 1}", asset_selection=wanted, tags={NIGHTS_TAG: digest})
        return dg.SensorResult(run_requests=[request], cursor=digest)

    return nights_ended


def _digest(context: MonitoringContext) -> str | None:
    """Return what tells whether a night has ended; None where none has yet."""
    ended = [[night.key, night.state] for night in recent_nights(context) if night.state != "pending"]
    return json_digest(ended) if ended else None
