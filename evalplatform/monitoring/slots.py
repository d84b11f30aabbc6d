"""When nights are due.

A cadence of whole days keeps its time of day on the schedule's clock: exactly one slot a day, through clock changes as well. A time that a
day does not have (the clock goes forward) is the same count of hours later; of a time that a day has twice it is the first. Any other
cadence counts in seconds from the first slot, whatever clocks do.

References:
    PEP 495 (the `fold` of a repeated local time).
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from evalplatform.runs.night import Slot
from evalplatform.runs.schedule import DAY_SECONDS, Schedule


def local_slot(day: date, at: time, timezone: str) -> Slot:
    """Return the slot of a local day at a time of day."""
    local = datetime.combine(day, at.replace(tzinfo=None), tzinfo=ZoneInfo(timezone))
    return Slot(at=local.astimezone(UTC), local_date=day)


def slot_at(moment: datetime, timezone: str) -> Slot:
    """Return the slot of an instant."""
    return Slot(at=moment, local_date=moment.astimezone(ZoneInfo(timezone)).date())


def next_local_time(after: datetime, at: time, timezone: str) -> datetime:
    """Return the next instant later than `after` at which a clock in the time zone shows a time of day; in UTC."""
    day = after.astimezone(ZoneInfo(timezone)).date() - timedelta(days=1)
    while True:
        slot = local_slot(day, at, timezone)
        if slot.at > after:
            return slot.at
        day += timedelta(days=1)


def due_slots(schedule: Schedule, *, after: datetime | None, now: datetime) -> Iterator[Slot]:
    """Iterate over the slots that are due, oldest first.

    Args:
        schedule: a paused one has none.
        after: the last slot that has a night; None for none.
        now: slots at this instant are due.
    """
    if not schedule.is_on:
        return
    number = _number_at_or_after(schedule, max(schedule.first_at, schedule.active_since, after or schedule.first_at))
    while True:
        slot = _slot(schedule, number)
        if slot.at > now:
            return
        if slot.at >= schedule.active_since and (after is None or slot.at > after) and not _is_left_out(schedule, number, slot):
            yield slot
        number += 1


def next_slot(schedule: Schedule, *, now: datetime) -> Slot | None:
    """Return the first slot after `now`; None for a paused schedule."""
    if not schedule.is_on:
        return None
    number = _number_at_or_after(schedule, max(schedule.first_at, schedule.active_since, now))
    while True:
        slot = _slot(schedule, number)
        if slot.at > now and slot.at >= schedule.active_since and not _is_left_out(schedule, number, slot):
            return slot
        number += 1


def _number_at_or_after(schedule: Schedule, moment: datetime) -> int:
    """Return the number of a slot that is at most a little before the moment; never negative."""
    elapsed_seconds = (moment - schedule.first_at).total_seconds()
    return max(0, int(elapsed_seconds // schedule.cadence_seconds) - 1)  # local days may be an hour or more shorter or longer


def _is_left_out(schedule: Schedule, number: int, slot: Slot) -> bool:
    """Say whether a slot is the one before once more: of a day that its zone left out, as Samoa did in 2011, no instant is its own."""
    return number > 0 and _slot(schedule, number - 1).at >= slot.at


def _slot(schedule: Schedule, number: int) -> Slot:
    """Return the slot of a number, counted from the first, which is 0."""
    if schedule.cadence_seconds % DAY_SECONDS:
        return slot_at(schedule.first_at + timedelta(seconds=number * schedule.cadence_seconds), schedule.timezone)
    first = schedule.first_at.astimezone(ZoneInfo(schedule.timezone))
    return local_slot(first.date() + timedelta(days=number * schedule.cadence_seconds // DAY_SECONDS), first.time(), schedule.timezone)
