"""Which streams have no night though one was due: what tells that nobody starts them any more."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from evalplatform.kernel.values import Value
from evalplatform.monitoring.slots import due_slots
from evalplatform.runs.night import Night, Slot
from evalplatform.runs.schedule import DAY_SECONDS, Schedule

GRACE_SECONDS = 3_600
"""A night may be so late: its run may wait for others."""


class LateStream(Value):
    """A stream and the last slot that it should have a night for, and has none."""

    stream: str
    slot: Slot


def late_streams(schedules: Iterable[Schedule], newest: Mapping[str, Night], *, now: datetime) -> Iterator[LateStream]:
    """Iterate over the schedules of which no night was begun or recorded for the last slot that is more than an hour past.

    Args:
        schedules: paused ones are never late.
        newest: the night with the last slot of each stream that has one, pending or not.
        now: what lateness is told by.
    """
    until = now - timedelta(seconds=GRACE_SECONDS)
    for schedule in schedules:
        last = newest.get(schedule.id)
        # Slots are looked for no further back than one is certain to be: a local day may be some hours longer than others.
        recent = until - timedelta(seconds=schedule.cadence_seconds + DAY_SECONDS)
        slot = max(due_slots(schedule, after=recent, now=until), key=lambda one: one.at, default=None)
        if slot is not None and (last is None or last.slot.at < slot.at):
            yield LateStream(stream=schedule.id, slot=slot)
