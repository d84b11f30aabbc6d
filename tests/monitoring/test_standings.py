"""What stands after nights, and what each is told with: a table over failed checks, and what holds for any sequence."""

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.monitoring.standings import Standing, change_of, standing_after
from evalplatform.runs.night import AlertKind, Night, NightState
from tests.support.monitoring_values import night

STATES: dict[str, NightState] = {"c": "checked_clean", "f": "checked_flagged", "x": "check_failed", ".": "pending"}
TOLD: dict[AlertKind, str] = {"drift_detected": "D", "recovered": "R", "monitor_failed": "M"}

TABLE = {
    # nights in their order: what is told of each (D drift detected, R recovered, M monitor failed, - nothing)
    "f": "D",  # first night flagged
    "c": "-",  # first night clean
    "x": "M",  # first night failed
    "cf": "-D",
    "ff": "D-",
    "fc": "DR",
    "cc": "--",
    "fcf": "DRD",
    "fxc": "DMR",  # flagged, failed, clean: a recovery
    "cxc": "-M-",  # clean, failed, clean: none
    "fxf": "DM-",  # drift was told and has not recovered
    "cxf": "-MD",
    "xf": "MD",
    "xc": "M-",
    "xxx": "M--",  # one streak, one message
    "cxxc": "-M--",
    "cxcx": "-M-M",  # a checked night ends a streak
    "fxfx": "DM-M",
    "fxxcxf": "DM-RMD",
    "xfxcx": "MDMRM",
    "c.f": "--D",
    "f.f": "D--",
    "f.c": "D-R",
    "x.x": "M--",  # a pending night ends no streak
}


def after(standing: Standing, state: NightState) -> Standing:
    """What stands after one more night, said another way than the code does."""
    if state == "pending":
        return standing
    return Standing(now=state, last_checked=standing.last_checked if state == "check_failed" else state)


def told(states: str) -> str:
    """What each of these nights is told with."""
    standing, messages = Standing(), []
    for letter in states:
        before, standing = standing, after(standing, STATES[letter])
        alert = change_of(before, standing)
        messages.append("-" if alert is None else TOLD[alert])
    return "".join(messages)


@pytest.mark.parametrize(("states", "messages"), TABLE.items())
def test_each_change_of_standing_is_told_once(states: str, messages: str) -> None:
    assert told(states) == messages


@given(st.text(alphabet="cfx.", max_size=30))
def test_nothing_is_told_twice_in_a_row_and_every_message_follows_from_its_nights(states: str) -> None:
    messages = told(states)
    drift = [message for message in messages if message in "DR"]
    assert all(a != b for a, b in pairwise(drift)), "drift and recovery take turns"
    assert not drift or drift[0] == "D"
    for place, message in enumerate(messages):
        assert {"D": "f", "R": "c", "M": "x", "-": "cfx."}[message].find(states[place]) >= 0


@given(st.text(alphabet="cfx.", max_size=30))
def test_failed_checks_and_pending_nights_change_nothing_that_is_told_of_drift(states: str) -> None:
    kept = [(state, message) for state, message in zip(states, told(states), strict=True) if state in "cf"]
    assert "".join(message for _, message in kept) == told("".join(state for state, _ in kept))


@given(st.text(alphabet="cfx.", max_size=12))
def test_what_stands_is_read_from_stored_nights_as_it_is_told_night_by_night(states: str) -> None:
    standing = Standing()
    for letter in states:
        standing = after(standing, STATES[letter])
    nights = [_night(place, letter) for place, letter in enumerate(states)]
    assert standing_after(reversed(nights)) == standing


def _night(place: int, letter: str) -> Night:
    reason: dict[str, Literal["missed_slot"] | None] = {"reason": "missed_slot" if letter == "x" else None}
    return night(hours=24 * place, state=STATES[letter], **reason)


def test_a_standing_names_its_last_checked_night_behind_a_failed_one() -> None:
    standing = standing_after([_night(1, "x"), _night(0, "f")])
    assert (standing.now, standing.last_checked) == ("check_failed", "checked_flagged")
