"""What the flags of `evalplatform monitor` take: spans, times of day, pins, and the variable of an Authorization value."""

import os
import re
from collections.abc import Iterable
from datetime import time

from evalplatform.kernel.errors import InputError, MissingSecretError
from evalplatform.monitoring.schedule_rules import RunChoice

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(r"([0-9]{1,9})([smhd])")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


def span_seconds(text: str) -> int:
    """Return a span such as `90m`, `24h` or `7d` in seconds. Raises InputError."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise InputError(f"takes a number with s, m, h or d, such as 12h or 7d; not {text!r}.", field="--every")
    return int(found[1]) * UNIT_SECONDS[found[2]]


def time_of_day(text: str) -> time:
    """Return a time of day such as `02:30`. Raises InputError."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise InputError(f"takes a time of day from 00:00 to 23:59; not {text!r}.", field="--at")
    return time(int(found[1]), int(found[2]))


def run_choices(pins: Iterable[str]) -> dict[str, RunChoice]:
    """Return the chosen run of each scenario. Raises InputError where one is none, or a scenario has two."""
    chosen: dict[str, RunChoice] = {}
    for pin in pins:
        scenario_id, _, run = pin.rpartition("=")
        batch_id, _, run_id = run.partition("/")
        if not (scenario_id and batch_id and run_id):
            raise InputError(f"takes SCENARIO=BATCH/RUN, as `evalplatform monitor scenarios` lists them; not {pin!r}.", field="--pin")
        if scenario_id in chosen:
            raise InputError(f"{scenario_id!r} is pinned twice.", field="--pin")
        chosen[scenario_id] = RunChoice(batch_id=batch_id, run_id=run_id)
    return chosen


def authorization_value(variable: str | None, *, is_cleared: bool) -> str | None:
    """Return an Authorization value from the environment; empty where the stored one is to be cleared, None where it is to stay.

    Raises:
        InputError: it is to be stored and cleared at once.
        MissingSecretError: the variable holds nothing, which must not clear what is stored.
    """
    if variable is None:
        return "" if is_cleared else None
    if is_cleared:
        raise InputError("cannot be given beside --auth-env.", field="--clear-auth")
    value = os.environ.get(variable)
    if not value:
        raise MissingSecretError(f"names {variable!r}, and the environment holds no value under that name.", field="--auth-env")
    return value
