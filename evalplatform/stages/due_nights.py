"""Which nights of schedules are to be run now. What was skipped, what may not run, and what died for good is recorded on the way.

Looking twice gives the same: a slot is recorded once, and one that is under way is not asked for again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from evalplatform.kernel.text import plural
from evalplatform.monitoring.slots import due_slots
from evalplatform.runs.night import Night, NightReason, Slot
from evalplatform.runs.schedule import Schedule
from evalplatform.stages.allowance import allowance_shortfall
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.night_end import finish_night, record_failed
from evalplatform.stages.night_legs import nights_folder, nights_with_legs, remove_legs

MOST_ATTEMPTS = 3
SKIPPED = "the slot passed while no check could be started."
OVERTAKEN = "it was interrupted, and the next slot came due before it was through."
GONE = "it was interrupted, and its schedule is paused or gone."


class Orchestrator(Protocol):
    """What is known of the runs that were asked for, by night key."""

    def is_under_way(self, night_key: str) -> bool:
        """Say whether a run of that night waits or is going on."""
        ...

    def ended_attempts(self, night_key: str) -> int:
        """Return how many runs of that night are over, however they ended."""
        ...


class NightToRun(NamedTuple):
    """A night that is to be started."""

    stream: str
    slot: Slot
    attempt: int

    @property
    def key(self) -> str:
        """The night's key."""
        return f"{self.stream}.{self.slot.id}"


class DueNights(NamedTuple):
    """What one look came to: nights to start, and nights that were recorded as failed checks."""

    to_run: tuple[NightToRun, ...]
    recorded: tuple[Night, ...]


def due_nights(context: MonitoringContext, orchestrator: Orchestrator) -> DueNights:
    """Return what is to be started now.

    Of the slots of a schedule that came due since its last night only the latest is started; each one before it is recorded as a missed
    slot. A night that was interrupted is started again while its slot is the latest, three times at most.

    Args:
        context: the monitoring side of the project.
        orchestrator: which nights' runs wait, go on, or are over.

    Raises:
        StorageUnavailableError: the store does not answer; looking again is safe.
    """
    _remove_left_behind(context)
    look = _Look(context, orchestrator, allowance_shortfall(context))
    found = list(look.found())
    return DueNights(
        to_run=tuple(one for one in found if isinstance(one, NightToRun)), recorded=tuple(one for one in found if isinstance(one, Night))
    )


def _remove_left_behind(context: MonitoringContext) -> None:
    """Remove the bundles of nights that have ended whose process died before it did so: the batches hold all of it."""
    folder = nights_folder(context.project)
    for key in nights_with_legs(folder):
        night = context.store.night(key)
        if night is not None and night.state != "pending":
            remove_legs(folder, key)


@dataclass(frozen=True)
class _Look:
    context: MonitoringContext
    orchestrator: Orchestrator
    shortfall: str | None

    def found(self) -> Iterator[NightToRun | Night]:
        """Iterate over what is to be started and what was recorded."""
        pending = [night for night in self.context.store.pending() if night.source == "monitor"]
        schedules = {schedule.id: schedule for schedule in self.context.store.schedules()}
        for night in pending:
            schedule = schedules.get(night.stream)
            if (schedule is None or not schedule.is_on) and not self.orchestrator.is_under_way(night.key):
                yield self._ended(night, GONE, schedule)
        for schedule in schedules.values():
            if schedule.is_on:
                yield from self._of_schedule(schedule, [night for night in pending if night.stream == schedule.id])

    def _of_schedule(self, schedule: Schedule, pending: Sequence[Night]) -> Iterator[NightToRun | Night]:
        last = next(self.context.store.nights(stream=schedule.id, limit=1), None)
        slots = list(due_slots(schedule, after=None if last is None else last.slot.at, now=self.context.clock.now()))
        for night in pending:
            if self.orchestrator.is_under_way(night.key):
                return  # one night of a schedule at a time; what came due meanwhile is looked at when this one is over
            if slots or night is not pending[-1]:
                yield self._ended(night, OVERTAKEN, schedule)
            else:
                yield self._again(NightToRun(night.stream, night.slot, night.attempt + 1), night, schedule)
        for slot in slots[:-1]:
            yield self._recorded(schedule, slot, "missed_slot", SKIPPED)
        if slots:
            yield from self._latest(schedule, slots[-1])

    def _latest(self, schedule: Schedule, slot: Slot) -> Iterator[NightToRun | Night]:
        first = NightToRun(schedule.id, slot, 1)
        if self.orchestrator.is_under_way(first.key):
            return
        if self.shortfall is not None:
            yield self._recorded(schedule, slot, "allowance_exceeded", self.shortfall)
        else:
            yield self._again(first, None, schedule)

    def _again(self, wanted: NightToRun, night: Night | None, schedule: Schedule) -> NightToRun | Night:
        """Return the next attempt at a night, or its end where it had them all. A run may have died before its night began."""
        attempt = max(wanted.attempt, self.orchestrator.ended_attempts(wanted.key) + 1)
        if attempt <= MOST_ATTEMPTS:
            return wanted._replace(attempt=attempt)
        detail = f"{plural(attempt - 1, 'attempt')} ended without an answer."
        return self._recorded(schedule, wanted.slot, "missed_slot", detail) if night is None else self._ended(night, detail, schedule)

    def _ended(self, night: Night, detail: str, schedule: Schedule | None) -> Night:
        failed = night.with_changes(state="check_failed", reason="missed_slot", detail=detail)
        return finish_night(self.context, failed, recipients=() if schedule is None else schedule.recipients)

    def _recorded(self, schedule: Schedule, slot: Slot, reason: NightReason, detail: str) -> Night:
        night = Night(source="monitor", stream=schedule.id, slot=slot, state="check_failed", reason=reason, detail=detail)
        return record_failed(self.context, night, recipients=schedule.recipients)
