"""The schedule of the sentinel: once a day at the time of the project file, on the clock of its time zone."""

from datetime import UTC, timedelta
from pathlib import Path

import dagster as dg

from assets.monitoring import SENTINEL_JOB
from assets.monitoring_partitions import SENTINEL_DAYS, register
from assets.night_runs import SENTINEL_SCHEDULE, night_request, switched_on_at
from evalplatform.project.load import load_project
from evalplatform.project.schema import SentinelSettings
from evalplatform.stages.sentinel_days import day_of, due_night, is_over, record_missed_days
from evalplatform.wiring import OpenedProject

_DESCRIPTION = (
    "Asks for the sentinel's night, every day at `sentinel.at` of the project file, on the clock of `sentinel.timezone`: once a day "
    "through clock changes too. **Asks the agent**, so it is stopped until you start it. Days that passed while the daemon was down are "
    "recorded as missed; only the latest one runs. Another time in the project file takes a reload of the code location."
)


def sentinel_schedule(project_file: Path, settings: SentinelSettings) -> dg.ScheduleDefinition:
    """Return the schedule; `settings` are what the definitions are built with."""
    hour, minute = settings.at.split(":")

    @dg.schedule(
        name=SENTINEL_SCHEDULE,
        job=SENTINEL_JOB,
        cron_schedule=f"{int(minute)} {int(hour)} * * *",
        execution_timezone=settings.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description=_DESCRIPTION,
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        project = load_project(project_file)
        of_file = project.settings.sentinel
        offset = timedelta(seconds=project.deployment.clock_offset_seconds)
        day = day_of(of_file, context.scheduled_execution_time.astimezone(UTC) + offset)
        key = day.isoformat()
        with OpenedProject(project) as opened:
            nights = opened.monitoring_context()
            if is_over(of_file, day, now=nights.clock.now()):
                return dg.SkipReason(f"The night of {key} is over: the next one is due already.")
            since = switched_on_at(context.instance)
            missed = () if since is None else record_missed_days(nights, since=since + offset, before=day)
            night = due_night(nights, day)
        if missed:
            context.log.warning(f"Recorded as missed: {', '.join(one.slot.local_date.isoformat() for one in missed)}.")
        if night is not None and night.state != "pending":
            return dg.SkipReason(f"The night of {key} has ended before.")
        register(context.instance, SENTINEL_DAYS, [key])
        return night_request(SENTINEL_DAYS, key, attempt=1)

    return nightly
