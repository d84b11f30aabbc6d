"""What follows when a run of the sentinel's night fails: another attempt while the day is not over, else a failed check."""

from pathlib import Path

import dagster as dg

from assets.monitoring import SENTINEL_JOB
from assets.monitoring_partitions import SENTINEL_DAYS, day_of_partition
from assets.night_runs import NightRuns, night_request
from assets.unfinished import PARTITION_TAG
from evalplatform.project.load import load_project
from evalplatform.reports.sentinel_words import night_sentence
from evalplatform.stages.due_nights import MOST_ATTEMPTS
from evalplatform.stages.night_legs import nights_folder
from evalplatform.stages.sentinel_days import ended_for_good
from evalplatform.wiring import OpenedProject

SENSOR_NAME = "failed_nights"
EVERY_SECONDS = 30

_DESCRIPTION = (
    f"Has a night of the sentinel whose run failed tried again, {MOST_ATTEMPTS} times in all and until the next one is due; what a run has "
    "finished is not asked again. A night without an answer ends as a failed check, never as a clean one. Nights of schedules are tried "
    "again by the sensor `monitoring`."
)


def failed_nights_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor of failed runs of the sentinel. It runs from the start."""

    @dg.run_failure_sensor(
        name=SENSOR_NAME,
        monitored_jobs=[SENTINEL_JOB],
        request_job=SENTINEL_JOB,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def failed_nights(context: dg.RunFailureSensorContext) -> dg.RunRequest | dg.SkipReason:
        key = context.dagster_run.tags[PARTITION_TAG]
        project = load_project(project_file)
        runs = NightRuns(context.instance, nights_folder(project))
        if runs.is_asked_for(key):
            return dg.SkipReason(f"Another run is at the night of {key}.")
        ended = runs.ended_attempts(key)
        with OpenedProject(project) as opened:
            night = ended_for_good(opened.monitoring_context(), day_of_partition(key), ended_attempts=ended)
        if night is None:
            return night_request(SENTINEL_DAYS, key, attempt=ended + 1)
        return dg.SkipReason(night_sentence(night))

    return failed_nights
