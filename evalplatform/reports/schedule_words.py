"""Schedules, and what can be monitored, as lines of text and as JSON. A stored Authorization value shows its last characters alone."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from evalplatform.kernel.text import plural
from evalplatform.monitoring.overview import REASONS, AgentAnswer, ListedSchedule, ListedSchedules, MonitorableScenario
from evalplatform.monitoring.schedule_rules import duration_words
from evalplatform.monitoring.standings import Standing
from evalplatform.reports.sentinel_words import night_sentence
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.schedule import Schedule

STANDING_WORDS = {
    None: "not checked yet",
    "checked_clean": "clean",
    "checked_flagged": "flagged",
    "check_failed": "check failed",
}


def schedules_lines(listed: ListedSchedules) -> Iterator[str]:
    """Yield every schedule, and how much of the allowance is used; nothing where there is no schedule."""
    for one in listed.schedules:
        yield from schedule_lines(one)
        yield ""
    if listed.schedules:
        yield usage_sentence(listed)


def schedules_json(listed: ListedSchedules) -> dict[str, Any]:
    """Return the schedules as JSON, with what of the allowance is used."""
    usage = {"used": listed.used, "used_here": listed.used_here, "allowance": listed.allowance}
    return {"schedules": [listed_json(one) for one in listed.schedules], "scenarios": usage}


def schedule_lines(listed: ListedSchedule) -> Iterator[str]:
    """Yield a schedule with all that it says, what stands, and when it is due."""
    schedule = listed.schedule
    yield schedule.id
    facts = dict(_facts(listed))
    width = max(map(len, facts))
    for name, fact in facts.items():
        yield f"  {name.ljust(width)}  {one_line(fact)}"
    for pin in schedule.pins:
        yield f"  - {one_line(with_visible_spaces(pin.scenario_id))}  pinned to {pin.batch_id}/{pin.run_id}"


def answer_sentence(answer: AgentAnswer) -> str:
    """Return what a test call was answered, in a sentence."""
    took = "" if answer.seconds is None else f" in {answer.seconds:.1f} s"
    steps = plural(answer.steps, "step")
    problem = "" if answer.problem is None else f"; it did not finish: {answer.problem}"
    return one_line(f"An agent answers at {answer.endpoint}: {steps} to {with_visible_spaces(answer.scenario_id)!r}{took}{problem}")


def usage_sentence(listed: ListedSchedules) -> str:
    """Return how much of the allowance is used; it is the tenant's, so every project counts."""
    of = "" if listed.allowance is None else f" of {listed.allowance:,}"
    noun = "scenario" if (listed.used if listed.allowance is None else listed.allowance) == 1 else "scenarios"
    return f"{listed.used:,}{of} {noun} in use across all projects; this project uses {listed.used_here:,}."


def schedule_json(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as JSON, the encrypted Authorization value left out."""
    return schedule.model_dump(mode="json", exclude={"auth": {"token"}})


def listed_json(listed: ListedSchedule) -> dict[str, Any]:
    """Return a schedule as JSON with what stands in it and when it is due."""
    night, due = listed.last_night, listed.next_slot
    return {
        **schedule_json(listed.schedule),
        "standing": listed.standing.model_dump(mode="json"),
        "last_night": None if night is None else {"key": night.key, "state": night.state, "reason": night.reason},
        "next_due_at": None if due is None else due.at.isoformat(),
    }


def moment_words(moment: datetime) -> str:
    """Return a moment in UTC to the minute."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _local_words(moment: datetime, timezone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(timezone)):%H:%M} in {timezone}"


def _facts(listed: ListedSchedule) -> Iterator[tuple[str, str]]:
    schedule = listed.schedule
    yield "is", "on" if schedule.is_on else "paused"
    yield "checks", f"every {_cadence_words(schedule.cadence_seconds)}, {plural(schedule.runs, 'live run')} of each scenario"
    if listed.next_slot is not None:
        local = "" if schedule.timezone == "UTC" else f", {_local_words(listed.next_slot.at, schedule.timezone)}"
        yield "next due", f"{moment_words(listed.next_slot.at)}{local}"
    yield "stands", _standing(listed.standing)
    if listed.last_night is not None:
        night = listed.last_night
        yield "last night", f"{moment_words(night.slot.at)}: {night_sentence(night)}"
    yield "endpoint", f"{schedule.endpoint_url} ({schedule.timeout_seconds:g} s a call)"
    yield "Authorization", "none" if schedule.auth is None else f"stored, ends in {schedule.auth.last_chars or '(too short to show)'}"
    yield "tells", ", ".join(schedule.recipients)
    yield "saved", f"{moment_words(schedule.saved_at)} by {schedule.saved_by}"


def _cadence_words(seconds: int) -> str:
    words = duration_words(seconds)
    return words.removeprefix("1 ")  # every day, not every 1 day


def _standing(standing: Standing) -> str:
    words = STANDING_WORDS[standing.now]
    if standing.now == "check_failed" and standing.last_checked is not None:
        return f"{words}; before that {STANDING_WORDS[standing.last_checked]}"
    return words


def offered_lines(scenarios: Sequence[MonitorableScenario]) -> Iterator[str]:
    """Yield the scenarios with the runs that they can be pinned to, as `--pin` takes them; then the others, each with why not."""
    for scenario in scenarios:
        if scenario.reason is None:
            yield one_line(with_visible_spaces(scenario.scenario_id))
            for run in scenario.runs:
                commit = "" if run.commit is None else f", commit {run.commit[:12]}"
                yield f"  {run.batch_id}/{run.run_id}  {one_line(f'{moment_words(run.created_at)}, {run.agent}{commit}')}"
    left_out = [scenario for scenario in scenarios if scenario.reason is not None]
    if left_out:
        yield "cannot be monitored:"
    for scenario in left_out:
        assert scenario.reason is not None  # that is why it was left out
        yield f"  {one_line(with_visible_spaces(scenario.scenario_id))}  {scenario.reason}: {REASONS[scenario.reason]}"
