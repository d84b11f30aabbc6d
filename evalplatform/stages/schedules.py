"""Schedules, changed and read: saved, paused, resumed, removed. Every change is in the audit log, without the Authorization value."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from evalplatform.kernel.errors import UnknownNameError
from evalplatform.monitoring.overview import AgentAnswer, ListedSchedule, ListedSchedules
from evalplatform.monitoring.schedule_rules import (
    ScheduleRequest,
    check_allowance,
    check_cadence,
    check_recipients,
    checked_request,
    drafted_schedule,
    kept_header,
    switched_schedule,
)
from evalplatform.monitoring.slots import next_slot
from evalplatform.monitoring.standings import standing_after
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.monitoring import CheckTenant, ProjectSchedule
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.schedule import Pin, Schedule, StoredHeader, address_of
from evalplatform.stages.allowance import require_monitoring, used_allowance
from evalplatform.stages.authorization import opened_authorization, sealed_authorization
from evalplatform.stages.endpoint_trial import (
    first_scenario,
    monitored_endpoint,
    refuse_address,
    stored_schedule,
    tried,
    unknown_schedule,
)
from evalplatform.stages.monitored_scenarios import new_pin
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.scenario_sets import current_scenarios

__all__ = ["listed_schedule", "pause_schedule", "read_schedules", "remove_schedule", "resume_schedule", "save_schedule"]

SAVED, PAUSED, RESUMED, REMOVED = (f"monitoring.schedule_{change}" for change in ("saved", "paused", "resumed", "removed"))


class SavedSchedule(NamedTuple):
    """A schedule as it is stored now, whether it is a new one, and what the test call was answered; None where none was made."""

    schedule: Schedule
    is_new: bool
    answer: AgentAnswer | None


async def save_schedule(context: MonitoringContext, request: ScheduleRequest, *, actor: str) -> SavedSchedule:
    """Save a schedule, new or changed. One that is on is tried first, and saved only where an agent answers.

    Args:
        context: the monitoring side of the project.
        request: what it is to be.
        actor: who saves it.

    Raises:
        MonitoringError: a rule of schedules is broken, by its code; nothing is stored.
        EndpointRefusedError: the address is none that a monitored agent may have, or nothing answers there as an agent does.
        MissingSecretError: an Authorization value was given, and the deployment has no key to store it with.
        CredentialUnreadableError: the stored Authorization value cannot be read.
        InputError: a name is unknown or cannot be one, or somebody else saved the schedule meanwhile.
        StorageUnavailableError: a store does not answer.
    """
    require_monitoring(context)
    stored = context.store.schedule(request.id)
    checked_request(request, stored)
    scenario_set = current_scenarios(context.runs)
    url = request.endpoint_url if request.endpoint_url is not None or stored is None else stored.endpoint_url
    assert url is not None  # a request for a new schedule has been checked for one
    await refuse_address(context, monitored_endpoint(context, url, timeout_seconds=1))
    schedule = drafted_schedule(
        request,
        stored,
        pins=await _pins(context, scenario_set, request, stored),
        auth=_header(context, request, stored, address=address_of(url)),
        granted=context.project.entitlements,
        default_timezone=context.project.settings.sentinel.timezone,
        actor=actor,
        now=context.clock.now(),
    )
    _allowance_check(context, schedule)(context.store.tenant_schedules())  # before anybody is asked; again while it is stored
    answer = await _tried(context, scenario_set, schedule) if schedule.is_on else None
    _store(context, schedule, replaces=stored, action=SAVED)
    return SavedSchedule(schedule, stored is None, answer)


async def resume_schedule(context: MonitoringContext, schedule_id: str, *, actor: str) -> SavedSchedule:
    """Switch a schedule on, from now on; it is tried first, and what it may be is looked at again. One that is on stays as it is.

    Raises as `save_schedule` does.
    """
    require_monitoring(context)
    stored = stored_schedule(context, schedule_id)
    if stored.is_on:
        return SavedSchedule(stored, False, None)
    schedule = switched_schedule(stored, is_on=True, actor=actor, now=context.clock.now())
    check_cadence(schedule.cadence_seconds, context.project.entitlements)
    check_recipients(schedule.recipients, context.project.entitlements)
    _allowance_check(context, schedule)(context.store.tenant_schedules())  # before anybody is asked; again while it is stored
    answer = await _tried(context, current_scenarios(context.runs), schedule)
    _store(context, schedule, replaces=stored, action=RESUMED)
    return SavedSchedule(schedule, False, answer)


def pause_schedule(context: MonitoringContext, schedule_id: str, *, actor: str) -> Schedule:
    """Switch a schedule off: no slot is due, and it uses none of the allowance. One that is paused stays as it is.

    Raises:
        MonitoringError: schedule_unknown.
        InputError: somebody else saved it meanwhile.
        StorageUnavailableError: the store does not answer.
    """
    stored = stored_schedule(context, schedule_id)
    if not stored.is_on:
        return stored
    schedule = switched_schedule(stored, is_on=False, actor=actor, now=context.clock.now())
    _store(context, schedule, replaces=stored, action=PAUSED)
    return schedule


def remove_schedule(context: MonitoringContext, schedule_id: str, *, actor: str) -> Schedule:
    """Remove a schedule, and return what it was. Its nights stay, and its pins hold no run any more.

    Raises:
        MonitoringError: schedule_unknown.
        StorageUnavailableError: the store does not answer.
    """
    stored = stored_schedule(context, schedule_id)
    entry = AuditEntry(
        actor=actor, action=REMOVED, subject=stored.id, old_value=audited(stored), new_value=None, happened_at=context.clock.now()
    )
    if not context.store.remove(stored.id, entry=entry):  # somebody else was faster
        raise unknown_schedule(schedule_id, [])
    return stored


def read_schedules(context: MonitoringContext) -> ListedSchedules:
    """Return the project's schedules with what stands in each. Raises StorageUnavailableError."""
    used = used_allowance(context)
    return ListedSchedules(
        schedules=tuple(listed_schedule(context, schedule) for schedule in context.store.schedules()),
        used=sum(used.values()),
        used_here=used.get(context.project.settings.project, 0),
        allowance=context.project.entitlements.scenario_allowance,
    )


def listed_schedule(context: MonitoringContext, schedule: Schedule) -> ListedSchedule:
    """Return a schedule with what stands in it, its last night, and when it is next due. Raises StorageUnavailableError."""
    return ListedSchedule(
        schedule=schedule,
        standing=standing_after(context.store.nights(stream=schedule.id)),
        last_night=next(context.store.nights(stream=schedule.id, limit=1), None),
        next_slot=next_slot(schedule, now=context.clock.now()),
    )


def audited(schedule: Schedule) -> dict[str, JsonValue]:
    """Return a schedule as the audit log keeps it: of its Authorization value only which address it is for, and its last characters."""
    return schedule.model_dump(mode="json", exclude={"auth": {"token"}})


async def _pins(
    context: MonitoringContext, scenario_set: ScenarioSet, request: ScheduleRequest, stored: Schedule | None
) -> tuple[Pin, ...]:
    """Return the pins as they are to be. Those that stay keep the digest that they were pinned with."""
    pins = {} if stored is None else {pin.scenario_id: pin for pin in stored.pins}
    for scenario_id in request.unpin:
        if scenario_id not in pins:
            raise UnknownNameError("watched scenario", scenario_id, pins, field="scenarios")
        del pins[scenario_id]
    for scenario_id, choice in request.pins.items():
        pins[scenario_id] = await new_pin(context.runs, scenario_set, scenario_id, choice)
    return tuple(pins.values())


def _header(context: MonitoringContext, request: ScheduleRequest, stored: Schedule | None, *, address: str) -> StoredHeader | None:
    if request.authorization is None:
        return kept_header(stored, address=address)
    return sealed_authorization(context.vault, request.authorization, address=address) if request.authorization else None


def _allowance_check(context: MonitoringContext, schedule: Schedule) -> CheckTenant:
    """Return what refuses a schedule that does not fit beside the tenant's others. Raises MonitoringError: allowance_exceeded."""
    ours = (context.project.settings.project, schedule.id)

    def check(stored: Sequence[ProjectSchedule]) -> None:
        others = [found.schedule for found in stored if (found.project, found.schedule.id) != ours]
        check_allowance(schedule, others=others, granted=context.project.entitlements)

    return check


async def _tried(context: MonitoringContext, scenario_set: ScenarioSet, schedule: Schedule) -> AgentAnswer:
    endpoint = monitored_endpoint(
        context,
        schedule.endpoint_url,
        timeout_seconds=schedule.timeout_seconds,
        authorization=opened_authorization(context.vault, schedule),
    )
    return await tried(context, endpoint, first_scenario(scenario_set, schedule))


def _store(context: MonitoringContext, schedule: Schedule, *, replaces: Schedule | None, action: str) -> None:
    entry = AuditEntry(
        actor=schedule.saved_by,
        action=action,
        subject=schedule.id,
        old_value=None if replaces is None else audited(replaces),
        new_value=audited(schedule),
        happened_at=schedule.saved_at,
    )
    context.store.save(schedule, replaces=replaces, entry=entry, check=_allowance_check(context, schedule))
