"""When a stream is late: a night was due more than an hour ago, and is neither begun nor recorded."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.monitoring.late_nights import GRACE_SECONDS, late_streams
from evalplatform.monitoring.slots import due_slots
from evalplatform.runs.night import Night, Slot
from evalplatform.runs.schedule import DAY_SECONDS, HOUR_SECONDS, WEEK_SECONDS, Pin, Schedule

FIRST = datetime(2026, 3, 1, 1, 30, tzinfo=UTC)
PIN = Pin(scenario_id="refund", batch_id="b-1", run_id="r-1", trajectory_digest="sha256:0")
GRACE = timedelta(seconds=GRACE_SECONDS)


def schedule(**changes: object) -> Schedule:
    fields = {"first_at": FIRST, "active_since": FIRST, "saved_at": FIRST, "timezone": "Europe/Berlin", **changes}
    return Schedule.model_validate(
        {"id": "s", "pins": (PIN,), "endpoint_url": "https://a.example/", "recipients": ("a@b.example",), "saved_by": "ann", **fields}
    )


def late(of: Schedule, slot: Slot | None = None, *, now: datetime) -> list[datetime]:
    newest = {} if slot is None else {"s": Night(source="monitor", stream="s", slot=slot)}
    return [one.slot.at for one in late_streams([of], newest, now=now)]


def test_a_stream_is_late_an_hour_after_its_slot_and_no_earlier() -> None:
    assert late(schedule(), now=FIRST + GRACE - timedelta(seconds=1)) == []
    assert late(schedule(), now=FIRST + GRACE) == [FIRST]


def test_a_night_that_was_begun_is_not_late_however_it_ends() -> None:
    slot = Slot(at=FIRST, local_date=FIRST.date())
    assert late(schedule(), slot, now=FIRST + GRACE) == []
    assert late(schedule(), slot, now=FIRST + timedelta(days=1) + GRACE) == [FIRST + timedelta(days=1)]


def test_a_paused_schedule_and_one_that_was_just_switched_on_are_not_late() -> None:
    assert late(schedule(is_on=False), now=FIRST + timedelta(days=9)) == []
    assert late(schedule(active_since=FIRST + timedelta(days=3)), now=FIRST + timedelta(days=3)) == []


@given(
    cadence=st.sampled_from([HOUR_SECONDS, 5 * HOUR_SECONDS, DAY_SECONDS, 3 * DAY_SECONDS, WEEK_SECONDS]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"]),
    hours=st.integers(0, 24 * 300),
)
def test_it_is_the_last_due_slot_that_a_stream_is_late_for(cadence: int, zone: str, hours: int) -> None:
    of, now = schedule(cadence_seconds=cadence, timezone=zone), FIRST + timedelta(hours=hours)
    slots = [slot.at for slot in due_slots(of, after=None, now=now - GRACE)]
    assert late(of, now=now) == slots[-1:]


@given(seconds=st.integers(0, 4_000_000_000), days=st.integers(-1, 1))
def test_a_slot_comes_back_from_its_id(seconds: int, days: int) -> None:
    at = datetime.fromtimestamp(seconds, tz=UTC)
    slot = Slot(at=at, local_date=at.date() if at.year < 1971 else at.date() + timedelta(days=days))
    assert Slot.of_id(slot.id) == slot


@pytest.mark.parametrize("text", ["", "2026-12-01", "20261201t023000z", "20261201t023000z-2026-13-01", "20261201T023000Z-2026-12-01"])
def test_what_is_no_id_of_a_slot_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Slot.of_id(text)
