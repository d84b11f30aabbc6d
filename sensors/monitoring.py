"""Asks for the nights that are due, and tells Dagster of those that ended without a run of it."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import dagster as dg

from assets.monitoring import MONITORING_JOB
from assets.monitoring_partitions import NIGHTS, unregistered
from assets.monitoring_reconcile import recent_nights, report_night, unreported_nights
from assets.night_runs import NightRuns, night_request
from evalplatform.kernel.text import plural
from evalplatform.project.load import load_project
from evalplatform.runs.night import Night
from evalplatform.stages.due_nights import MOST_ATTEMPTS, DueNights, due_nights
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_legs import nights_folder
from evalplatform.wiring import OpenedProject

SENSOR_NAME = "monitoring"
EVERY_SECONDS = 30
MAX_REPORTED = 25
"""The most nights that one look reports. Each takes the reading of both its legs."""
REPORT_SECONDS = 20.0
"""After so long it reports no further one: a look has a minute in all."""

_DESCRIPTION = (
    "Asks for the night of every schedule whose slot is due, one night of a schedule at a time. **Asks agents**, as the schedules say. "
    "After downtime only the latest slot runs; each one before it is recorded as missed. A night whose run died goes on under a new "
    f"attempt, {MOST_ATTEMPTS} at most. It keeps no cursor: what is due follows from the stored nights and from Dagster's runs."
)


def monitoring_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor. It runs from the start: nothing is due before somebody has saved a schedule.

    A look that is cut short anywhere loses nothing and doubles nothing: missed slots are recorded once, a night of one attempt has one run
    key, and what Dagster was not told of it is told by the next look.
    """

    @dg.sensor(
        name=SENSOR_NAME,
        job=MONITORING_JOB,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def monitoring(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        project = load_project(project_file)
        runs = NightRuns(context.instance, nights_folder(project))
        with OpenedProject(project) as opened:
            nights = opened.monitoring_context()
            due = due_nights(nights, runs)
            reported = _reported(context.instance, nights, due, runs)
        if not due.to_run:
            told = f" Told of {plural(reported, 'night')} that ended without a run." if reported else ""
            return dg.SkipReason(f"No night is to be started.{told}")
        keys = unregistered(context.instance, NIGHTS, [one.key for one in due.to_run])
        return dg.SensorResult(
            run_requests=[night_request(NIGHTS, one.key, attempt=one.attempt) for one in due.to_run],
            dynamic_partitions_requests=[NIGHTS.build_add_request(keys)] if keys else [],
        )

    return monitoring


def _reported(instance: dg.DagsterInstance, context: MonitoringContext, due: DueNights, runs: NightRuns) -> int:
    """Report nights that Dagster does not know of, as many as there is time for, and return how many; the next look goes on."""
    until_seconds = context.clock.monotonic_seconds() + REPORT_SECONDS
    reported = 0
    for night in islice(unreported_nights(instance, _candidates(context, due), runs), MAX_REPORTED):
        report_night(instance, context, night)
        reported += 1
        if context.clock.monotonic_seconds() > until_seconds:
            break
    return reported


def _candidates(context: MonitoringContext, due: DueNights) -> Iterator[Night]:
    """Iterate over the nights that Dagster may not know of: what this look recorded, then the last ones that there are."""
    yield from due.recorded
    yield from recent_nights(context)
