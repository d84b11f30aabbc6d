"""What a schedule may be: limits, cadence, recipients, the allowance, and what becomes of a stored Authorization value.

Every refusal has a fixed code and the field that it is about.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from evalplatform.kernel.errors import MonitoringError
from evalplatform.kernel.text import plural
from evalplatform.runs.night import SENTINEL
from evalplatform.runs.schedule import DAY_SECONDS, HOUR_SECONDS, MOST_HEADER_CHARS, MOST_RUNS, MOST_SCENARIOS, WEEK_SECONDS, Schedule

FEATURE = "monitoring.managed"
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?")
"""What an address looks like, as HTML's input fields take it; whether it is anybody's only the mail server knows."""


def check_id(schedule_id: str) -> None:
    """Refuse the name that the sentinel's nights have."""
    if schedule_id == SENTINEL:
        raise MonitoringError("schedule_unknown", f"{SENTINEL!r} is what the nights of `evalplatform sentinel` are called.", field="name")


def check_scenarios(scenario_ids: Sequence[str]) -> None:
    """Refuse none, more than fifty, and one twice."""
    if not scenario_ids:
        raise MonitoringError("no_passing_run", "names a scenario and the passing run that it is held to; name at least one.", field="pins")
    if len(scenario_ids) > MOST_SCENARIOS:
        raise MonitoringError(
            "too_many_scenarios", f"at most {MOST_SCENARIOS} scenarios a schedule; these are {len(scenario_ids)}.", field="pins"
        )


def check_runs(runs: int) -> None:
    """Refuse anything but 1 to 4 live runs."""
    if not 1 <= runs <= MOST_RUNS:
        raise MonitoringError("runs_out_of_range", f"must be 1 to {MOST_RUNS} live runs of each scenario (got {runs}).", field="runs")


def check_cadence(cadence_seconds: int, *, shortest_seconds: int) -> None:
    """Refuse less than the shortest cadence that is granted, and more than a week."""
    shortest = max(HOUR_SECONDS, shortest_seconds)
    if cadence_seconds < shortest:
        raise MonitoringError("cadence_too_short", f"must be at least {cadence_words(shortest)}.", field="cadence")
    if cadence_seconds > WEEK_SECONDS:
        raise MonitoringError("cadence_too_long", f"must be at most {cadence_words(WEEK_SECONDS)}.", field="cadence")


def check_recipients(recipients: Sequence[str], *, most: int) -> None:
    """Refuse none, more than are granted, and what is no address."""
    if not recipients:
        raise MonitoringError("recipient_missing", "an address is needed to send alerts to.", field="recipients")
    if len(recipients) > most:
        raise MonitoringError(
            "too_many_recipients", f"at most {plural(most, 'recipient')}; these are {len(recipients)}.", field="recipients"
        )
    for recipient in recipients:
        if not ADDRESS.fullmatch(recipient):
            raise MonitoringError("recipient_malformed", f"{recipient!r} is no mail address.", field="recipients")


def check_allowance(scenarios: int, *, used_elsewhere: int, allowance: int | None) -> None:
    """Refuse more scenarios than are granted over all projects of the tenant.

    Args:
        scenarios: of this schedule; none of a paused one.
        used_elsewhere: by all other schedules that are on, of all projects.
        allowance: what is granted; None is no limit.
    """
    if allowance is not None and used_elsewhere + scenarios > allowance:
        rule = f"{plural(used_elsewhere + scenarios, 'scenario')} would be in use across all projects, and {allowance:,} are granted."
        raise MonitoringError("allowance_exceeded", rule, field="pins")


def check_header_value(value: str) -> None:
    """Refuse an Authorization value of several lines, of characters that no header holds, or longer than 4,096."""
    if len(value) > MOST_HEADER_CHARS:
        raise MonitoringError("header_malformed", f"must have at most {MOST_HEADER_CHARS:,} characters.", field="authorization")
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        raise MonitoringError("header_malformed", "must be one line of plain characters, without space around it.", field="authorization")


class HeaderStep(NamedTuple):
    """What becomes of the stored Authorization value: it is kept, cleared, or another one is sealed in its place."""

    step: Literal["keep", "clear", "seal"]
    value: str = ""


def header_step(given: str | None, *, stored_address: str | None, address: str) -> HeaderStep:
    """Return what becomes of the stored value when a schedule is saved.

    Args:
        given: the value; None where it was left out, which keeps the stored one, and empty to clear it.
        stored_address: `scheme://host:port` that a stored value was saved for; None where none is stored.
        address: that of the endpoint now.

    Raises:
        MonitoringError: a stored value would be kept for another address than it was saved for; or the given one is no header value.
    """
    if given is None:
        if stored_address is not None and stored_address != address:
            rule = f"the stored value is for {stored_address}; give it again for {address}, or clear it."
            raise MonitoringError("header_needed_again", rule, field="authorization")
        return HeaderStep("keep")
    if not given:
        return HeaderStep("clear")
    check_header_value(given)
    return HeaderStep("seal", given)


def restarts(schedule: Schedule, before: Schedule | None) -> bool:
    """Say whether slots count anew: the schedule is new, was paused, or has another cadence or first slot."""
    if before is None or not before.is_on:
        return True
    return (schedule.cadence_seconds, schedule.first_at, schedule.timezone) != (before.cadence_seconds, before.first_at, before.timezone)


def cadence_words(seconds: int) -> str:
    """Return a cadence as words: in days or hours where it is whole ones."""
    for unit, size in (("day", DAY_SECONDS), ("hour", HOUR_SECONDS)):
        if seconds % size == 0:
            return plural(seconds // size, unit)
    return plural(seconds, "second")
