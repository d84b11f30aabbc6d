"""Which nights are late, by what is stored now."""

from datetime import datetime, timedelta

from evalplatform.monitoring.late_nights import GRACE_SECONDS, LateStream, late_streams
from evalplatform.runs.night import SENTINEL
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.sentinel_days import DAY, day_of, night_of_day, slot_of_day


def late_schedules(context: MonitoringContext) -> tuple[LateStream, ...]:
    """Return the schedules whose last due slot has no night. Raises StorageUnavailableError."""
    schedules = context.store.schedules()
    newest = {schedule.id: night for schedule in schedules for night in context.store.nights(stream=schedule.id, source="monitor", limit=1)}
    return tuple(late_streams(schedules, newest, now=context.clock.now()))


def late_sentinel(context: MonitoringContext, *, since: datetime | None) -> tuple[LateStream, ...]:
    """Return the sentinel where its last due day has no night. Raises StorageUnavailableError.

    Args:
        context: the monitoring side of the project.
        since: when its schedule was last switched on; None where it is off, which is never late.
    """
    if since is None:
        return ()
    settings = context.project.settings.sentinel
    until = context.clock.now() - timedelta(seconds=GRACE_SECONDS)
    today = day_of(settings, until)
    day = today if slot_of_day(settings, today).at <= until else today - DAY
    slot = slot_of_day(settings, day)
    if slot.at < since or night_of_day(context, day) is not None:
        return ()
    return (LateStream(stream=SENTINEL, slot=slot),)
