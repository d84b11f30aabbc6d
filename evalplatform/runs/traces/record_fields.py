"""What a recorded conversation says about itself beside its messages: which field is read for what.

Of several names the first that is there and not null counts, each looked for in the record and then in its `metadata`.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from evalplatform.kernel.errors import TraceError
from evalplatform.kernel.usage import Usage
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.traces.trace import NO_GRADE, TraceGrade

SCENARIO_FIELDS = ("scenario_id", "scenario", "task_id", "id")
"""`id` comes last: it may be that of a completion."""
TRIAL_FIELDS = ("trial", "run", "epoch")
VERDICT_FIELDS = ("passed", "verdict", "success")
REWARD_FIELDS = ("reward", "score")
TIME_FIELDS = ("created_at", "timestamp", "created")

MAX_SCENARIO_CHARS = 200
_PASSED_WORDS = ("passed", "pass", "success", "correct", "true")
_FAILED_WORDS = ("failed", "fail", "failure", "incorrect", "false")
_MILLISECONDS_FROM = 100_000_000_000  # seconds of the year 5138: larger numbers are milliseconds

Record = Mapping[str, object]


def scenario_of(record: Record) -> str | None:
    """Return the scenario that a record names, None where it names none. Raises TraceError where the value is no id."""
    name, value = _first(record, SCENARIO_FIELDS)
    return None if value is None else checked_scenario(value, field=name)


def checked_scenario(value: object, *, field: str | None) -> str:
    """Return a scenario id: a text of one line, or a whole number as text. Raises TraceError."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > MAX_SCENARIO_CHARS:
        raise TraceError(f"must be a scenario's id, a line of at most {MAX_SCENARIO_CHARS} characters.", field=field)
    return text


def trial_of(record: Record) -> int | None:
    """Return which attempt a record says it is, None where it does not say. Raises TraceError where the value is no whole number."""
    name, value = _first(record, TRIAL_FIELDS)
    return None if value is None else checked_trial(value, field=name)


def checked_trial(value: object, *, field: str | None) -> int:
    """Return a trial: a whole number from 0, which may be written as text. Raises TraceError."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise TraceError("must be a whole number from 0.", field=field)


def grade_of(record: Record) -> TraceGrade:
    """Return the verdict of a record.

    A reward of 1 is passed, a smaller one failed, with 100 times the reward as its points; a verdict in words or as true and false decides
    the outcome where both are there, and brings no points.

    Raises:
        TraceError: a verdict that is none, or a reward outside [0, 1].
    """
    verdict_name, verdict = _first(record, VERDICT_FIELDS)
    reward_name, reward = _first(record, REWARD_FIELDS)
    points = None if reward is None else 100.0 * checked_reward(reward, field=reward_name)
    if verdict is not None:
        passed = _checked_verdict(verdict, field=verdict_name)
        return TraceGrade(outcome="passed" if passed else "failed", reason=f"{verdict_name} {_shown(verdict)}", score_points=points)
    if points is None:
        return NO_GRADE
    return TraceGrade(outcome="passed" if points == 100.0 else "failed", reason=f"{reward_name} {_shown(reward)}", score_points=points)


def states_grade(record: Record) -> bool:
    """Return whether a record says how its run ended, so that nothing of the run can follow."""
    return any(_first(record, names)[0] is not None for names in (VERDICT_FIELDS, REWARD_FIELDS))


def grade_problems(grade: TraceGrade) -> tuple[TraceProblem, ...]:
    """Return the problem of a verdict that its own reward speaks against: failed with a reward of 1, or passed with one of 0."""
    if (grade.outcome, grade.score_points) not in (("failed", 100.0), ("passed", 0.0)):
        return ()
    return (TraceProblem(kind="verdict_disagrees", detail=f"{grade.reason}, {grade.score_points:g} points"),)


def checked_reward(value: object, *, field: str | None) -> float:
    """Return a reward between 0 and 1. Raises TraceError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TraceError("must be a number between 0 and 1.", field=field)
    return float(value)


def word_verdict(value: str) -> bool | None:
    """Return whether a word says passed or failed, None where it says neither."""
    word = value.strip().casefold()
    return True if word in _PASSED_WORDS else False if word in _FAILED_WORDS else None


def time_of(record: Record) -> datetime | None:
    """Return when a record says it was made, in UTC: ISO 8601 (without an offset: UTC) or seconds or milliseconds since 1970.

    Raises:
        TraceError: the value is no time.
    """
    name, value = _first(record, TIME_FIELDS)
    return None if value is None else checked_time(value, field=name)


def checked_time(value: object, *, field: str | None) -> datetime:
    """Return a time in UTC, as `time_of` reads it. Raises TraceError."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS_FROM else value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise TraceError("must be a time: ISO 8601, or seconds since 1970.", field=field)


def usage_of(record: Record) -> Usage:
    """Return the tokens that a record states under `usage`, as OpenAI names them; what is no count is unknown."""
    usage = record.get("usage")
    if not isinstance(usage, Mapping):
        return Usage()
    return Usage(prompt_tokens=count_of(usage.get("prompt_tokens")), completion_tokens=count_of(usage.get("completion_tokens")))


def count_of(value: object) -> int | None:
    """Return a count, None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount_of(value: object) -> float | None:
    """Return an amount, None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or not math.isfinite(value):
        return None
    return float(value)


def name_of(value: object) -> str | None:
    """Return a name, None for what is none."""
    return value if isinstance(value, str) and value.strip() and value.isprintable() else None


def _checked_verdict(value: object, *, field: str | None) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (passed := word_verdict(value)) is not None:
        return passed
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    raise TraceError("must be true or false, or one of the words passed and failed.", field=field)


def _first(record: Record, names: tuple[str, ...]) -> tuple[str | None, object]:
    metadata = record.get("metadata")
    for name in names:
        for place, prefix in ((record, ""), (metadata, "metadata.")):
            if isinstance(place, Mapping) and place.get(name) is not None:
                return prefix + name, place[name]
    return None, None


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value).strip()
