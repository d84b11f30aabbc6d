"""The sentinel's nights by local day: which slot a day has, when it may run, and which days were missed."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from evalplatform.calls.progress import OnProgress
from evalplatform.kernel.errors import InputError
from evalplatform.monitoring.slots import local_slot
from evalplatform.project.schema import SentinelSettings
from evalplatform.runs.night import SENTINEL, Night, Slot
from evalplatform.stages.due_nights import MOST_ATTEMPTS, SKIPPED
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_end import finish_night, record_failed
from evalplatform.stages.scenario_sets import current_scenarios
from evalplatform.stages.sentinel import SentinelRequest, run_sentinel

DAY = timedelta(days=1)


def slot_of_day(settings: SentinelSettings, day: date) -> Slot:
    """Return when the sentinel is due on a local day."""
    return local_slot(day, time.fromisoformat(settings.at), settings.timezone)


def day_of(settings: SentinelSettings, moment: datetime) -> date:
    """Return the local day of an instant, whatever zone it is given in."""
    return moment.astimezone(UTC).astimezone(ZoneInfo(settings.timezone)).date()  # by way of UTC: local times need not exist


def is_over(settings: SentinelSettings, day: date, *, now: datetime) -> bool:
    """Say whether the next day's check is due, so that this day's comes too late."""
    return now >= slot_of_day(settings, day + DAY).at


def due_night(context: MonitoringContext, day: date) -> Night | None:
    """Return the night of a local day's slot, or None."""
    return context.store.night(f"{SENTINEL}.{slot_of_day(context.project.settings.sentinel, day).id}")


def night_of_day(context: MonitoringContext, day: date) -> Night | None:
    """Return the night that stands for a local day: the one of its slot, else the day's last one by `evalplatform sentinel`, or None."""
    due = due_night(context, day)
    if due is not None:
        return due
    at = slot_of_day(context.project.settings.sentinel, day).at
    around = context.store.nights(stream=SENTINEL, since=at - 2 * DAY, before=at + 2 * DAY)
    return next((night for night in around if night.slot.local_date == day), None)


async def run_sentinel_day(context: MonitoringContext, day: date, *, commit: str | None, actor: str, on_progress: OnProgress) -> Night:
    """Run the sentinel's night of a local day, and return it; one that has ended before is returned as it is.

    Args:
        context: the monitoring side of the project.
        day: on the clock of the sentinel's time zone.
        commit: of the agent's repository, where it is known.
        actor: who asks, for the audit.
        on_progress: told of each finished run.

    Raises:
        InputError: the day is over or not there yet and has no night, or as `run_sentinel` says.
        BundleInUseError, StorageError: as `run_sentinel` says.
    """
    settings = context.project.settings.sentinel
    due = due_night(context, day)
    if due is not None and due.state != "pending":
        return due
    now = context.clock.now()
    if is_over(settings, day, now=now) or day > day_of(settings, now):
        there = night_of_day(context, day)
        if there is not None and there.state != "pending":
            return there
        raise InputError(
            f"{day} has no night, and none can be made now: an agent is asked on the day itself, until the next check is due.",
            field="partition",
        )
    request = SentinelRequest(
        scenario_set=current_scenarios(context.runs),
        slot=slot_of_day(settings, day),
        runs=settings.runs,
        fail_rate=settings.reference_fail_rate,
        max_cost_usd=settings.max_cost_usd,
        commit=commit,
        actor=actor,
    )
    return await run_sentinel(context, request, on_progress=on_progress)


def record_missed_days(context: MonitoringContext, *, since: datetime, before: date) -> tuple[Night, ...]:
    """Record the days on which the sentinel was due and no night of it was run, and return their nights.

    Args:
        context: the monitoring side of the project.
        since: when the schedule was last switched on: nothing was due earlier.
        before: the day that is due now, which is not missed.

    Raises:
        StorageUnavailableError: the store does not answer; recording again is safe.
    """
    return tuple(
        record_failed(
            context,
            Night(source="sentinel", stream=SENTINEL, slot=slot, state="check_failed", reason="missed_slot", detail=SKIPPED),
            recipients=context.project.settings.sentinel.recipients,
        )
        for slot in _missed_slots(context, since, before)
    )


def ended_for_good(context: MonitoringContext, day: date, *, ended_attempts: int) -> Night | None:
    """End a day's night whose attempts failed, where it cannot be tried again; None where it can.

    Args:
        context: the monitoring side of the project.
        day: whose attempt has failed.
        ended_attempts: how many attempts at it are over.

    Raises:
        StorageUnavailableError: the store does not answer; ending it again is safe.
    """
    settings = context.project.settings.sentinel
    night = due_night(context, day)
    if night is not None and night.state != "pending":
        return night
    if ended_attempts < MOST_ATTEMPTS and not is_over(settings, day, now=context.clock.now()):
        return None
    detail = f"{ended_attempts} attempts ended without an answer." if ended_attempts > 1 else "its only attempt ended without an answer."
    if night is None:
        slot = slot_of_day(settings, day)
        failed = Night(source="sentinel", stream=SENTINEL, slot=slot, state="check_failed", reason="missed_slot", detail=detail)
        return record_failed(context, failed, recipients=settings.recipients)
    failed = night.with_changes(state="check_failed", reason="missed_slot", detail=detail)
    return finish_night(context, failed, recipients=settings.recipients)


def _missed_slots(context: MonitoringContext, since: datetime, before: date) -> Iterator[Slot]:
    settings = context.project.settings.sentinel
    # A night by hand stands for its own day alone; days before it may have been missed all the same.
    there = {night.slot.local_date for night in context.store.nights(stream=SENTINEL, since=since - 2 * DAY)}
    day = day_of(settings, since)
    while day < before:
        slot = slot_of_day(settings, day)
        if slot.at >= since and day not in there:
            yield slot
        day += DAY
