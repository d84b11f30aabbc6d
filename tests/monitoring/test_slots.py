"""When nights are due: one a day through clock changes, half-hour zones and month ends; what paused time and downtime leave."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.keys import checked_key
from evalplatform.monitoring.slots import due_slots, local_slot, next_local_time, next_slot, slot_at
from evalplatform.runs.night import Slot
from evalplatform.runs.schedule import DAY_SECONDS, HOUR_SECONDS, WEEK_SECONDS, Schedule
from tests.support.monitoring_values import schedule

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "America/Caracas",
)
FROM, TO = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2010, 2031))
MOMENTS = st.integers(FROM, TO).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
CADENCES = st.sampled_from([1, 5, 7, 13, 24, 36, 48, 72, 168]).map(lambda hours: hours * HOUR_SECONDS)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def daily(first: str, timezone: str, **facts: object) -> Schedule:
    return schedule(first_at=at(first), active_since=at(first), timezone=timezone, **facts)


def due(given_schedule: Schedule, until: str, after: str | None = None) -> list[str]:
    found = due_slots(given_schedule, after=None if after is None else at(after), now=at(until))
    return [f"{slot.at:%m-%d %H:%M} {slot.local_date}" for slot in found]


def test_the_day_that_has_no_half_past_two_has_one_night_an_hour_later() -> None:
    berlin = daily("2026-03-27T01:30", "Europe/Berlin")  # 02:30 in Berlin
    assert due(berlin, "2026-03-31T00:00") == [
        "03-27 01:30 2026-03-27",
        "03-28 01:30 2026-03-28",
        "03-29 01:30 2026-03-29",  # 02:30 does not exist; 01:30 UTC is 03:30 on the new clock
        "03-30 00:30 2026-03-30",
    ]


def test_the_day_that_has_half_past_two_twice_has_one_night_at_the_first() -> None:
    berlin = daily("2026-10-23T00:30", "Europe/Berlin")
    assert due(berlin, "2026-10-27T00:00") == [
        "10-23 00:30 2026-10-23",
        "10-24 00:30 2026-10-24",
        "10-25 00:30 2026-10-25",
        "10-26 01:30 2026-10-26",
    ]


def test_a_zone_that_moves_by_half_an_hour_and_one_of_three_quarters_keep_their_time_of_day() -> None:
    lord_howe = daily("2026-04-03T13:00", "Australia/Lord_Howe")  # midnight there; the clock goes back half an hour on 5 April
    assert due(lord_howe, "2026-04-06T23:00") == [
        "04-03 13:00 2026-04-04",
        "04-04 13:00 2026-04-05",
        "04-05 13:30 2026-04-06",
        "04-06 13:30 2026-04-07",
    ]
    assert local_slot(date(2026, 12, 1), time(2, 0), "Asia/Kathmandu").at == at("2026-11-30T20:15")


def test_a_day_that_a_zone_left_out_has_its_night_all_the_same_and_no_two_nights_share_an_instant() -> None:
    apia = daily("2011-12-28T22:00", "Pacific/Apia")  # noon; Samoa had no 30 December 2011
    found = list(due_slots(apia, after=None, now=at("2012-01-03T00:00")))
    assert len({slot.at for slot in found}) == len(found) == 6


def test_month_ends_and_leap_days_have_their_night() -> None:
    found = due(daily("2028-02-27T02:00", "UTC"), "2028-03-02T00:00")
    assert [line.split()[-1] for line in found] == [
        "2028-02-27",
        "2028-02-28",
        "2028-02-29",
        "2028-03-01",
    ]


def test_a_cadence_that_is_no_whole_number_of_days_counts_in_seconds_whatever_clocks_do() -> None:
    hourly = daily("2026-03-28T23:00", "Europe/Berlin", cadence_seconds=HOUR_SECONDS)
    assert due(hourly, "2026-03-29T03:00") == [
        "03-28 23:00 2026-03-29",
        "03-29 00:00 2026-03-29",
        "03-29 01:00 2026-03-29",
        "03-29 02:00 2026-03-29",
        "03-29 03:00 2026-03-29",
    ]


def test_what_passed_before_a_schedule_was_switched_on_is_not_due_and_a_paused_one_has_no_slot() -> None:
    nightly = daily("2026-12-01T02:00", "UTC", cadence_seconds=DAY_SECONDS)
    resumed = nightly.with_changes(active_since=at("2026-12-05T02:00"))
    assert due(resumed, "2026-12-06T03:00") == ["12-05 02:00 2026-12-05", "12-06 02:00 2026-12-06"]
    paused = nightly.with_changes(is_on=False)
    assert due(paused, "2026-12-30T00:00") == []
    assert next_slot(paused, now=at("2026-12-01T00:00")) is None


def test_slots_after_a_night_are_due_once_each_and_the_next_one_is_named() -> None:
    nightly = daily("2026-12-01T02:00", "UTC")
    assert due(nightly, "2026-12-04T01:59", after="2026-12-01T02:00") == ["12-02 02:00 2026-12-02", "12-03 02:00 2026-12-03"]
    assert due(nightly, "2026-12-04T02:00", after="2026-12-03T02:00") == ["12-04 02:00 2026-12-04"]
    upcoming = next_slot(nightly, now=at("2026-12-04T02:00"))
    assert upcoming is not None
    assert upcoming.at == at("2026-12-05T02:00")


@given(MOMENTS, st.sampled_from(ZONES), st.times())
def test_the_next_time_of_day_is_later_and_less_than_two_days_away(moment: datetime, zone: str, clock: time) -> None:
    found = next_local_time(moment, clock.replace(microsecond=0), zone)
    assert timedelta() < found - moment < timedelta(hours=50)


@given(MOMENTS, st.sampled_from(ZONES), st.integers(1, 40))
def test_every_local_day_has_exactly_one_daily_slot_through_every_clock_change(first: datetime, zone: str, days: int) -> None:
    nightly = schedule(first_at=first, active_since=first, timezone=zone)
    slots = list(due_slots(nightly, after=None, now=first + timedelta(days=days)))
    per_day = Counter(slot.local_date for slot in slots)
    assert set(per_day.values()) <= {1}
    days_between = [later.local_date - earlier.local_date for earlier, later in pairwise(slots)]
    assert set(days_between) <= {timedelta(days=1)}
    assert [slot.at for slot in slots] == sorted({slot.at for slot in slots})


@given(MOMENTS, st.sampled_from(ZONES), CADENCES, st.integers(0, 20 * WEEK_SECONDS), st.integers(0, 9))
def test_looking_often_finds_the_same_slots_as_looking_once(first: datetime, zone: str, cadence: int, later: int, looks: int) -> None:
    whole = schedule(first_at=first, active_since=first, timezone=zone, cadence_seconds=cadence)
    until = first + timedelta(seconds=min(later, 60 * cadence))
    at_once = [slot.at for slot in due_slots(whole, after=None, now=until)]
    found: list[datetime] = []
    for step in range(looks + 1):
        moment = first + (until - first) * (step + 1) / (looks + 1)
        found += [slot.at for slot in due_slots(whole, after=found[-1] if found else None, now=moment)]
    assert found == at_once
    upcoming = next_slot(whole, now=until)
    assert upcoming is not None
    assert upcoming.at > until
    assert [slot.at for slot in due_slots(whole, after=until, now=upcoming.at)] == [upcoming.at]


@given(MOMENTS, st.sampled_from(ZONES))
def test_a_slots_id_is_a_safe_key_that_sorts_by_time_and_reads_back(moment: datetime, zone: str) -> None:
    slot = slot_at(moment, zone)
    assert checked_key(f"a-schedule.{slot.id}", what="night")
    assert Slot.of_id(slot.id) == slot
    assert slot.id < slot_at(moment + timedelta(seconds=1), zone).id
    assert slot.local_date == moment.astimezone(ZoneInfo(zone)).date()


@pytest.mark.parametrize("text", ["", "20261201t030000z", "20261301t030000z-2026-12-01", "20261201t030000-2026-12-01", "x-2026-12-01"])
def test_what_is_no_slot_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Slot.of_id(text)
