"""Saving, pausing and removing schedules, and the test call. All of it stands in the audit log, and no Authorization value ever does."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple

from evalplatform.kernel.errors import EndpointRefusedError, HarnessError, InputError, MonitoringError, UnknownNameError
from evalplatform.monitoring import schedule_rules as rules
from evalplatform.monitoring.endpoints import FIELD, checked_url
from evalplatform.monitoring.slots import next_local_time
from evalplatform.ports.agent_runner import AgentRequest
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.monitored_agent import MonitoredEndpoint
from evalplatform.project.timezones import known_timezone
from evalplatform.runs.schedule import DAY_SECONDS, DEFAULT_TIMEOUT_SECONDS, Pin, Schedule, StoredHeader, address_of
from evalplatform.stages.allowance import used_allowance
from evalplatform.stages.authorization import opened_authorization, sealed_authorization
from evalplatform.stages.monitored_scenarios import pins_of
from evalplatform.stages.monitoring_context import MonitoringContext
from evalplatform.stages.scenario_sets import current_scenarios

DEFAULT_AT = time(2, 0)
SAVE, PAUSE, RESUME, REMOVE = (f"monitoring.schedule_{step}" for step in ("save", "pause", "resume", "remove"))


@dataclass(frozen=True)
class ScheduleRequest:
    """What a schedule is to be. What is None stays as it is stored, and is the default in a new schedule.

    Attributes:
        id: its name.
        pins: run ids by scenario id, all that are to be monitored.
        endpoint_url, timeout_seconds: where the agent is asked, and how long a call may take.
        authorization: the value to send; empty clears the stored one.
        runs: live runs of each scenario a night.
        cadence_seconds: from slot to slot.
        at, timezone: the time of day of slots of whole days, on which clock.
        recipients: who is mailed.
        is_on: whether slots are due.
    """

    id: str
    pins: Mapping[str, str] | None = None
    endpoint_url: str | None = None
    timeout_seconds: float | None = None
    authorization: str | None = None
    runs: int | None = None
    cadence_seconds: int | None = None
    at: time | None = None
    timezone: str | None = None
    recipients: tuple[str, ...] | None = None
    is_on: bool | None = None


class TestCall(NamedTuple):
    """What a test call gave: which scenario was asked, how many steps the trajectory has, and how long it took."""

    scenario_id: str
    steps: int
    seconds: float | None


async def save_schedule(context: MonitoringContext, request: ScheduleRequest, *, actor: str) -> tuple[Schedule, TestCall | None]:
    """Check all of a schedule, make the test call where it is on, and store it.

    Nothing is stored, and where the schedule itself is refused nobody is asked.

    Args:
        context: the monitoring side of the project.
        request: what it is to be.
        actor: who saves it, for the audit.

    Returns:
        The schedule as it is stored, and what the test call gave; None where none was made, since it is paused.

    Raises:
        MonitoringError: a rule is broken, with its code and field; `allowance_unavailable` where monitoring is not granted.
        UnknownNameError: a scenario that the file does not have.
        MissingSecretError: there is no key to store an Authorization value with.
    """
    before = context.store.schedule(request.id)
    schedule, authorization = checked_schedule(context, request, before, actor=actor)
    called = await test_call(context, schedule, authorization) if schedule.is_on else None
    _save(context, schedule, before, SAVE, actor=actor)
    return schedule, called


def checked_schedule(
    context: MonitoringContext, request: ScheduleRequest, before: Schedule | None, *, actor: str
) -> tuple[Schedule, str | None]:
    """Return a schedule that breaks no rule, with the Authorization value that it sends. Raises as `save_schedule` does; stores nothing."""
    require_monitoring(context)
    rules.check_id(request.id)
    now = context.clock.now()
    url = request.endpoint_url or _of(before, "endpoint_url", None)
    if url is None:
        raise EndpointRefusedError("endpoint_malformed", "is missing: where is the agent asked?", field=FIELD)
    check_endpoint(context, url)
    pins = _pins(context, request, before)
    runs, cadence = request.runs or _of(before, "runs", 1), request.cadence_seconds or _of(before, "cadence_seconds", DAY_SECONDS)
    recipients = _of(before, "recipients", ()) if request.recipients is None else request.recipients
    is_on = _of(before, "is_on", True) if request.is_on is None else request.is_on
    granted = context.project.entitlements
    rules.check_scenarios([pin.scenario_id for pin in pins])
    rules.check_runs(runs)
    rules.check_cadence(cadence, shortest_seconds=granted.shortest_cadence_seconds)
    rules.check_recipients(recipients, most=granted.most_recipients)
    used = sum(used_allowance(context).values()) - (before.used_allowance if before is not None else 0)
    rules.check_allowance(len(pins) if is_on else 0, used_elsewhere=used, allowance=granted.scenario_allowance)
    stored, authorization = _header(context, request, before, address=address_of(url))
    timezone = request.timezone or _of(before, "timezone", context.project.settings.sentinel.timezone)
    first_at = _first_at(request, before, cadence, timezone, now=now)
    schedule = Schedule(
        id=request.id,
        pins=pins,
        runs=runs,
        cadence_seconds=cadence,
        first_at=first_at,
        timezone=timezone,
        endpoint_url=url,
        timeout_seconds=request.timeout_seconds or _of(before, "timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
        auth=stored,
        recipients=recipients,
        is_on=is_on,
        active_since=now,
        saved_by=actor,
        saved_at=now,
    )
    if before is not None and not rules.restarts(schedule, before):
        schedule = schedule.with_changes(active_since=before.active_since)
    return schedule, authorization


def require_monitoring(context: MonitoringContext) -> None:
    """Raise MonitoringError where the deployment does not grant monitoring to the tenant."""
    if rules.FEATURE in context.project.entitlements.withheld:
        tenant = context.project.settings.tenant
        raise MonitoringError(
            "allowance_unavailable", f"{rules.FEATURE} is not granted to the tenant {tenant!r} here.", field=rules.FEATURE
        )


def check_endpoint(context: MonitoringContext, url: str) -> None:
    """Raise EndpointRefusedError for an address that no monitored agent may have; nothing is looked up."""
    hosts = context.project.deployment.monitored_host_names
    checked_url(url, allow_http=context.project.deployment.monitored_http, internal_hosts=hosts)


async def test_call(context: MonitoringContext, schedule: Schedule, authorization: str | None) -> TestCall:
    """Ask the agent once for the schedule's first scenario; nothing is stored.

    Raises:
        EndpointRefusedError: its address is refused, or it does not answer with a trajectory (`endpoint_not_an_agent`).
    """
    scenario = current_scenarios(context.runs).scenario(schedule.pins[0].scenario_id)
    endpoint = MonitoredEndpoint(
        url=schedule.endpoint_url,
        project=context.project.settings.project,
        timeout_seconds=schedule.timeout_seconds,
        authorization=authorization,
    )
    async with context.open_monitored_agent(endpoint) as agent:
        try:
            reply = await agent.run(AgentRequest(scenario_id=scenario.id, messages=scenario.messages, order=0))
        except HarnessError as error:
            if error.reason.startswith("endpoint_"):
                raise EndpointRefusedError(error.reason, str(error).partition(": ")[2] or str(error), field=FIELD) from None
            raise EndpointRefusedError("endpoint_not_an_agent", f"could not be asked: {error}", field=FIELD) from None
    if reply.ended == "agent_error" or not reply.trajectory.agent_acted:
        why = reply.reason or "its reply holds no step of an agent."
        raise EndpointRefusedError("endpoint_not_an_agent", f"does not answer with a trajectory: {why}", field=FIELD)
    return TestCall(scenario.id, len(reply.trajectory.steps), reply.seconds)


async def test_stored_schedule(context: MonitoringContext, schedule_id: str) -> TestCall:
    """Make the test call of a schedule as it is stored. Raises as `test_call` does, and CredentialUnreadableError."""
    require_monitoring(context)
    schedule = stored_schedule(context, schedule_id)
    return await test_call(context, schedule, opened_authorization(context.vault, schedule))


def pause_schedule(context: MonitoringContext, schedule_id: str, *, actor: str) -> Schedule:
    """Pause a schedule: nothing is due until it is resumed, and it uses none of the allowance."""
    before = stored_schedule(context, schedule_id)
    schedule = before.with_changes(is_on=False, saved_by=actor, saved_at=context.clock.now())
    if before.is_on:
        _save(context, schedule, before, PAUSE, actor=actor)
    return schedule if before.is_on else before


async def resume_schedule(context: MonitoringContext, schedule_id: str, *, actor: str) -> tuple[Schedule, TestCall | None]:
    """Switch a paused schedule on again, as saving it does: checked, with a test call. Slots of the time that it was paused are not due.

    Raises:
        MonitoringError: as `save_schedule` does.
    """
    before = stored_schedule(context, schedule_id)
    if before.is_on:
        return before, None
    schedule, authorization = checked_schedule(context, ScheduleRequest(id=schedule_id, is_on=True), before, actor=actor)
    called = await test_call(context, schedule, authorization)
    _save(context, schedule, before, RESUME, actor=actor)
    return schedule, called


def remove_schedule(context: MonitoringContext, schedule_id: str, *, actor: str) -> None:
    """Remove a schedule with its stored Authorization value; its nights stay. Raises MonitoringError where there is none."""
    before = stored_schedule(context, schedule_id)
    entry = _entry(REMOVE, schedule_id, actor, context.clock.now(), old=before, new=None)
    if not context.store.remove(schedule_id, entry=entry):
        raise _unknown(context, schedule_id)


def stored_schedule(context: MonitoringContext, schedule_id: str) -> Schedule:
    """Return a schedule, or raise MonitoringError with the nearest name."""
    schedule = context.store.schedule(schedule_id)
    if schedule is None:
        raise _unknown(context, schedule_id)
    return schedule


def _unknown(context: MonitoringContext, schedule_id: str) -> MonitoringError:
    unknown = UnknownNameError("schedule", schedule_id, [schedule.id for schedule in context.store.schedules()])
    return MonitoringError("schedule_unknown", str(unknown), field="name")


def _pins(context: MonitoringContext, request: ScheduleRequest, before: Schedule | None) -> tuple[Pin, ...]:
    if request.pins is None:
        return before.pins if before is not None else ()
    rules.check_scenarios(list(request.pins))  # before any of them is looked for
    return pins_of(context.runs, current_scenarios(context.runs), request.pins)


def _header(
    context: MonitoringContext, request: ScheduleRequest, before: Schedule | None, *, address: str
) -> tuple[StoredHeader | None, str | None]:
    """Return the Authorization value as it is stored, and as it is sent; None without one."""
    stored = None if before is None else before.auth
    step = rules.header_step(request.authorization, stored_address=None if stored is None else stored.address, address=address)
    if step.step == "seal":
        return sealed_authorization(context.vault, step.value, address=address), step.value
    if step.step == "clear" or before is None or stored is None:
        return None, None
    return stored, opened_authorization(context.vault, before)


def _first_at(request: ScheduleRequest, before: Schedule | None, cadence: int, timezone: str, *, now: datetime) -> datetime:
    """Return the slot that others are counted from: the next at the time of day, or, for less than a day, the last one."""
    try:
        known_timezone(timezone)
    except ValueError as error:
        raise InputError(f"{error}.", field="timezone") from None
    is_kept = before is not None and request.at is None and (cadence, timezone) == (before.cadence_seconds, before.timezone)
    if before is not None and is_kept:
        return before.first_at
    upcoming = next_local_time(now, request.at or DEFAULT_AT, timezone)
    if cadence >= DAY_SECONDS:
        return upcoming
    return upcoming - timedelta(seconds=-(-(upcoming - now).total_seconds() // cadence) * cadence)


def _save(context: MonitoringContext, schedule: Schedule, before: Schedule | None, action: str, *, actor: str) -> None:
    entry = _entry(action, schedule.id, actor, context.clock.now(), old=before, new=schedule)
    context.store.save(schedule, replaces=before, entry=entry)


def _entry(action: str, schedule_id: str, actor: str, now: datetime, *, old: Schedule | None, new: Schedule | None) -> AuditEntry:
    shown = [None if one is None else one.model_dump(mode="json", exclude={"auth": {"token"}}) for one in (old, new)]
    return AuditEntry(actor=actor, action=action, subject=schedule_id, old_value=shown[0], new_value=shown[1], happened_at=now)


def _of(before: Schedule | None, name: str, default: Any) -> Any:
    return default if before is None else getattr(before, name)
