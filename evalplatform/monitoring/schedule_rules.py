"""What a schedule may be, and what a change makes of one: limits, allowance, cadence, recipients, and which stored header value stays.

Everything here is pure. Each refusal is a MonitoringError with one of the fixed codes and the field that it is about.
"""

import math
import re
from collections.abc import Iterable
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field

from evalplatform.kernel.errors import InputError, MonitoringError
from evalplatform.kernel.keys import KEY_PATTERN, slug
from evalplatform.kernel.text import clip, plural
from evalplatform.kernel.values import Value
from evalplatform.monitoring.slots import local_slot, next_local_time
from evalplatform.project.entitlements import Entitlements, Feature
from evalplatform.project.timezones import known_timezone
from evalplatform.runs.mail_address import is_mail_address
from evalplatform.runs.night import SENTINEL
from evalplatform.runs.schedule import (
    DAY_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    HOUR_SECONDS,
    MOST_HEADER_CHARS,
    MOST_RECIPIENTS,
    MOST_RUNS,
    MOST_SCENARIOS,
    MOST_SCHEDULE_ID_CHARS,
    MOST_TIMEOUT_SECONDS,
    WEEK_SECONDS,
    Pin,
    Schedule,
    StoredHeader,
)

FEATURE: Feature = "monitoring.managed"
NEW: dict[str, Any] = {
    "runs": 1,
    "cadence_seconds": DAY_SECONDS,
    "timeout_seconds": DEFAULT_TIMEOUT_SECONDS,
    "is_on": True,
    "endpoint_url": None,
}
SHOWN_CHARS = 80
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class RunChoice(Value):
    """A run that somebody chose as the one to hold a scenario to."""

    batch_id: str
    run_id: str


class ScheduleRequest(Value):
    """What a schedule is to be. Of a schedule that is there already, what is None stays as it is.

    Attributes:
        id: which schedule, or the name of a new one.
        pins: runs to hold scenarios to, by scenario id, beside those pinned before; a scenario that was pinned is pinned anew.
        unpin: scenarios that are watched no more.
        runs, cadence_seconds, timezone, endpoint_url, timeout_seconds, recipients, is_on: see `Schedule`. Without a word about it a new
            schedule is on, runs daily, and tells whoever saves it.
        at: the time of day that its slots are counted from, on its own clock. A new schedule without one begins with the next full minute.
        authorization: the Authorization value; None keeps the stored one, and an empty one clears it.
    """

    id: str
    pins: dict[str, RunChoice] = Field(default_factory=dict)
    unpin: tuple[str, ...] = ()
    runs: int | None = None
    cadence_seconds: int | None = None
    at: time | None = None
    timezone: str | None = None
    endpoint_url: str | None = None
    timeout_seconds: float | None = None
    authorization: str | None = Field(default=None, repr=False)
    recipients: tuple[str, ...] | None = None
    is_on: bool | None = None


def checked_request(request: ScheduleRequest, stored: Schedule | None) -> None:
    """Do nothing where a request keeps the rules that need no look at anything else.

    Raises:
        InputError: its name cannot be one, it names no endpoint, an unknown time zone, or an impossible timeout.
        MonitoringError: runs_out_of_range, header_malformed.
    """
    if stored is None:
        _check_id(request.id)
    if request.endpoint_url is None and stored is None:
        raise InputError("a new schedule needs the address of its agent.", field="endpoint")
    if request.runs is not None and not 1 <= request.runs <= MOST_RUNS:
        raise MonitoringError("runs_out_of_range", f"must be from 1 to {MOST_RUNS} live runs; it is {request.runs:,}.", field="runs")
    if request.timeout_seconds is not None:
        check_timeout(request.timeout_seconds)
    if request.timezone is not None:
        try:
            known_timezone(request.timezone)
        except ValueError as error:
            raise InputError(f"{error}; it is {clip(request.timezone, SHOWN_CHARS)!r}.", field="timezone") from None
    if request.authorization:
        check_authorization(request.authorization)


def check_timeout(seconds: float) -> None:
    """Do nothing where a call may take so long. Raises InputError."""
    if not 0 < seconds <= MOST_TIMEOUT_SECONDS:  # false of a NaN as well
        raise InputError(f"must be above 0 and at most {MOST_TIMEOUT_SECONDS:g} seconds; it is {seconds:g}.", field="timeout")


def check_authorization(value: str) -> None:
    """Do nothing where a header value can be sent. Raises MonitoringError, header_malformed, which does not repeat the value."""
    if len(value) > MOST_HEADER_CHARS or not _HEADER_VALUE.fullmatch(value):
        rule = f"must be one line of at most {MOST_HEADER_CHARS:,} plain ASCII characters, without white space at either end."
        raise MonitoringError("header_malformed", rule, field="authorization")


def kept_header(stored: Schedule | None, *, address: str) -> StoredHeader | None:
    """Return the stored header value that stays where none is given; None where there is none.

    Args:
        stored: the schedule as it is.
        address: `scheme://host:port` that it is to have.

    Raises:
        MonitoringError: header_needed_again; the stored value is for another address.
    """
    if stored is None or stored.auth is None:
        return None
    if stored.auth.address != address:
        rule = f"the stored value is for {stored.auth.address}, and {address} needs it again, or have it cleared."
        raise MonitoringError("header_needed_again", rule, field="authorization")
    return stored.auth


def check_cadence(seconds: int, granted: Entitlements) -> None:
    """Do nothing where a cadence is one. Raises MonitoringError: cadence_too_short, cadence_too_long."""
    shortest_seconds = max(HOUR_SECONDS, granted.shortest_cadence_seconds)
    if seconds < shortest_seconds:
        rule = f"the shortest time between two checks is {duration_words(shortest_seconds)} here; it is {duration_words(seconds)}."
        raise MonitoringError("cadence_too_short", rule, field="cadence")
    if seconds > WEEK_SECONDS:
        rule = f"the longest time between two checks is {duration_words(WEEK_SECONDS)}; it is {duration_words(seconds)}."
        raise MonitoringError("cadence_too_long", rule, field="cadence")


def check_recipients(recipients: tuple[str, ...], granted: Entitlements) -> None:
    """Do nothing where these can be mailed. Raises MonitoringError: recipient_missing, recipient_malformed, too_many_recipients."""
    most = min(MOST_RECIPIENTS, granted.most_recipients)
    if not recipients:
        raise MonitoringError("recipient_missing", "somebody must be told: name at least one mail address.", field="recipients")
    for recipient in recipients:
        if not is_mail_address(recipient):
            rule = f"must each be one mail address, such as ana@example.com; not {clip(recipient, SHOWN_CHARS)!r}."
            raise MonitoringError("recipient_malformed", rule, field="recipients")
    if len(recipients) > most:
        raise MonitoringError("too_many_recipients", f"are at most {most}; these are {len(recipients):,}.", field="recipients")


def check_allowance(schedule: Schedule, *, others: Iterable[Schedule], granted: Entitlements) -> None:
    """Do nothing where a schedule fits what the tenant is granted.

    Args:
        schedule: as it is to be.
        others: all others of the tenant, over all of its projects.
        granted: what the tenant is granted.

    Raises:
        MonitoringError: allowance_exceeded. A paused schedule uses nothing, so it always fits.
    """
    allowance = granted.scenario_allowance
    if allowance is None or not schedule.used_allowance:
        return
    used = sum(other.used_allowance for other in others)
    if used + schedule.used_allowance > allowance:
        rule = (
            f"{used:,} of {plural(allowance, 'scenario')} in use by other schedules across all projects, "
            f"and {schedule.used_allowance:,} more do not fit; pause a schedule, or watch fewer."
        )
        raise MonitoringError("allowance_exceeded", rule, field="scenarios")


def check_pin_count(pins: Iterable[str]) -> None:
    """Do nothing where so many scenarios can be watched. Raises InputError where there is none, MonitoringError: too_many_scenarios."""
    count = len(set(pins))
    if not count:
        raise InputError("at least one scenario must be pinned to a run that passed; nothing is pinned by itself.", field="scenarios")
    if count > MOST_SCENARIOS:
        raise MonitoringError("too_many_scenarios", f"are at most {MOST_SCENARIOS}; these are {count:,}.", field="scenarios")


def drafted_schedule(
    request: ScheduleRequest,
    stored: Schedule | None,
    *,
    pins: tuple[Pin, ...],
    auth: StoredHeader | None,
    granted: Entitlements,
    default_timezone: str,
    actor: str,
    now: datetime,
) -> Schedule:
    """Return what a request makes of a schedule.

    Args:
        request: checked by `checked_request`.
        stored: the schedule as it is, or None for a new one.
        pins: its pins, in any order.
        auth: its stored header value.
        granted: what the tenant is granted.
        default_timezone: the clock of a new schedule that names none.
        actor: who saves it; told of alerts where nobody is named and this is a mail address.
        now: when.

    Raises:
        InputError, MonitoringError: as `check_cadence`, `check_recipients` and `check_pin_count` do.
    """
    told = (actor,) if is_mail_address(actor) else ()
    settings = _settings(request, stored, {**NEW, "timezone": default_timezone, "recipients": told})
    check_cadence(settings["cadence_seconds"], granted)
    check_recipients(settings["recipients"], granted)
    check_pin_count(pin.scenario_id for pin in pins)
    settings["first_at"] = _first_at(request.at, settings["timezone"], stored, cadence_seconds=settings["cadence_seconds"], now=now)
    goes_on = (
        stored is not None
        and all(settings[name] == getattr(stored, name) for name in ("first_at", "timezone", "cadence_seconds"))
        and (stored.is_on or not settings["is_on"])
    )
    return Schedule(
        id=request.id,
        pins=tuple(sorted(pins, key=lambda pin: pin.scenario_id)),
        auth=auth,
        active_since=stored.active_since if stored is not None and goes_on else now,
        saved_by=actor,
        saved_at=now,
        **settings,
    )


def switched_schedule(stored: Schedule, *, is_on: bool, actor: str, now: datetime) -> Schedule:
    """Return a schedule that is on paused, or one that is paused resumed from now on: the slots of a pause are not due afterwards."""
    return stored.with_changes(is_on=is_on, active_since=now if is_on else stored.active_since, saved_by=actor, saved_at=now)


def duration_words(seconds: int) -> str:
    """Return a time span in its largest whole unit: `2 days`, `90 minutes`."""
    for unit, size in (("day", DAY_SECONDS), ("hour", HOUR_SECONDS), ("minute", 60)):
        if seconds and seconds % size == 0:
            return plural(seconds // size, unit)
    return plural(seconds, "second")


def _settings(request: ScheduleRequest, stored: Schedule | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a schedule: what is given, else as they are, else those of a new one."""
    kept = new if stored is None else {name: getattr(stored, name) for name in new}
    given = {name: value for name in new if (value := getattr(request, name)) is not None}
    settings = kept | given
    return settings | {"recipients": tuple(dict.fromkeys(settings["recipients"]))}


def _check_id(schedule_id: str) -> None:
    if not KEY_PATTERN.fullmatch(schedule_id) or len(schedule_id) > MOST_SCHEDULE_ID_CHARS:
        rule = f"use 1 to {MOST_SCHEDULE_ID_CHARS} of a-z, 0-9, '.', '_' and '-', starting with a letter or digit."
        near = slug(schedule_id)[:MOST_SCHEDULE_ID_CHARS] or None
        raise InputError(f"{clip(schedule_id, SHOWN_CHARS)!r} cannot name a schedule: {rule}", field="schedule", nearest=near)
    if schedule_id == SENTINEL:
        raise InputError(f"{SENTINEL!r} names the nights of `evalplatform sentinel`; call it something else.", field="schedule")


def _first_at(at: time | None, timezone: str, stored: Schedule | None, *, cadence_seconds: int, now: datetime) -> datetime:
    """Return the slot that all others are counted from. One that is there stays, unless its time of day, clock or cadence changes."""
    if stored is not None:
        stands_at = stored.first_at.astimezone(ZoneInfo(stored.timezone)).time()
        at = stands_at if at is None else at
        if (at, timezone, cadence_seconds) == (stands_at, stored.timezone, stored.cadence_seconds):
            return stored.first_at
    if at is None:
        return now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    first = next_local_time(now, at, timezone)
    local = first.astimezone(ZoneInfo(timezone))
    if cadence_seconds % DAY_SECONDS:
        ahead_seconds = (first - now).total_seconds()
        return first - timedelta(seconds=(math.ceil(ahead_seconds / cadence_seconds) - 1) * cadence_seconds)
    if local.time() == at.replace(fold=local.fold):
        return first
    # The clock skips that time on just this day. Counted from it, every later slot would keep the hour that it was moved to.
    return local_slot(local.date() - timedelta(days=cadence_seconds // DAY_SECONDS), at, timezone).at
