"""What a schedule may be: limits and their codes, the allowance, the stored header value, and when its slots begin."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import InputError, MonitoringError
from evalplatform.monitoring.schedule_rules import (
    RunChoice,
    ScheduleRequest,
    check_allowance,
    check_authorization,
    checked_request,
    drafted_schedule,
    duration_words,
    kept_header,
    switched_schedule,
)
from evalplatform.monitoring.slots import due_slots, next_slot
from evalplatform.project.entitlements import Entitlements
from evalplatform.runs.mail_address import is_mail_address
from evalplatform.runs.schedule import DAY_SECONDS, HOUR_SECONDS, Pin, Schedule, StoredHeader

NOW = datetime(2026, 12, 1, 14, 37, 12, tzinfo=UTC)
EVERYTHING = Entitlements()
ENDPOINT = "https://agent.example/run"
NEW = ScheduleRequest(id="nightly", endpoint_url=ENDPOINT, recipients=("ana@example.com",))


def pins(count: int) -> tuple[Pin, ...]:
    return tuple(Pin(scenario_id=f"s{n:02}", batch_id="b-1", run_id="r-1", trajectory_digest="sha256:1") for n in range(count))


def drafted(
    request: ScheduleRequest = NEW,
    stored: Schedule | None = None,
    *,
    scenarios: int = 1,
    granted: Entitlements = EVERYTHING,
    actor: str = "ana",
    now: datetime = NOW,
) -> Schedule:
    checked_request(request, stored)
    return drafted_schedule(request, stored, pins=pins(scenarios), auth=None, granted=granted, default_timezone="UTC", actor=actor, now=now)


NO_ADDRESSES = (
    "",
    "ana",
    "ana@",
    "@example.com",
    "a@b@c",
    "a b@c.d",
    ".ana@example.com",
    "ana@example..com",
    "ana@example.com, eve@example.com",
    "ana@example.com\nBcc: eve@example.com",
    "ana@example.com\x00",
    "Ana <ana@example.com>",
    "jos\u00e9@example.com",
    "a" * 250 + "@b.cd",
)
REFUSED = {
    "runs_out_of_range": [NEW.with_changes(runs=0), NEW.with_changes(runs=5), NEW.with_changes(runs=-1)],
    "cadence_too_short": [NEW.with_changes(cadence_seconds=HOUR_SECONDS - 1), NEW.with_changes(cadence_seconds=0)],
    "cadence_too_long": [NEW.with_changes(cadence_seconds=7 * DAY_SECONDS + 1)],
    "recipient_missing": [NEW.with_changes(recipients=()), NEW.with_changes(recipients=None)],
    "recipient_malformed": [NEW.with_changes(recipients=(address,)) for address in NO_ADDRESSES],
    "too_many_recipients": [NEW.with_changes(recipients=tuple(f"r{n}@example.com" for n in range(11)))],
    "header_malformed": [
        NEW.with_changes(authorization=value) for value in ("a\nb", "a\r\nX: y", " a", "a ", "a\x00", "k\u00e9y", "a" * 4_097, "\t", "a\tb")
    ],
}


@pytest.mark.parametrize(("code", "request_"), [(code, request) for code, requests in REFUSED.items() for request in requests])
def test_each_broken_limit_is_refused_by_its_code(code: str, request_: ScheduleRequest) -> None:
    with pytest.raises(MonitoringError) as refused:
        drafted(request_)
    assert refused.value.code == code
    assert refused.value.field == {"run": "runs", "cad": "cadence", "hea": "authorization"}.get(code[:3], "recipients")


def test_what_stands_on_a_limit_is_taken() -> None:
    for request in (
        NEW.with_changes(runs=4),
        NEW.with_changes(cadence_seconds=HOUR_SECONDS),
        NEW.with_changes(cadence_seconds=7 * DAY_SECONDS),
        NEW.with_changes(recipients=tuple(f"r{n}@example.com" for n in range(10))),
        NEW.with_changes(authorization="a" * 4_096),
    ):
        assert drafted(request).id == "nightly"
    assert len(drafted(scenarios=50).pins) == 50
    with pytest.raises(MonitoringError, match="too_many_scenarios"):
        drafted(scenarios=51)
    with pytest.raises(InputError, match="at least one scenario"):
        drafted(scenarios=0)


def test_a_header_value_is_never_repeated_in_its_refusal() -> None:
    with pytest.raises(MonitoringError) as refused:
        check_authorization("Bearer hunter2\n")
    assert "hunter2" not in str(refused.value)
    assert "hunter2" not in repr(NEW.with_changes(authorization="Bearer hunter2"))


@pytest.mark.parametrize(
    ("schedule_id", "nearest"), [("Nightly Run", "nightly-run"), ("", None), ("../x", "x"), ("a" * 41, "a" * 40), ("sentinel", None)]
)
def test_a_name_that_no_schedule_can_have_is_refused_with_the_nearest(schedule_id: str, nearest: str | None) -> None:
    with pytest.raises(InputError) as refused:
        drafted(NEW.with_changes(id=schedule_id))
    assert (refused.value.field, refused.value.nearest) == ("schedule", nearest)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (NEW.with_changes(endpoint_url=None), "endpoint"),
        (NEW.with_changes(timezone="Europe/Berlim"), "timezone"),
        (NEW.with_changes(timeout_seconds=0), "timeout"),
        (NEW.with_changes(timeout_seconds=601), "timeout"),
    ],
)
def test_what_is_no_limit_of_the_platform_is_refused_as_bad_input(request_: ScheduleRequest, field: str) -> None:
    with pytest.raises(InputError) as refused:
        drafted(request_)
    assert refused.value.field == field


def test_a_deployment_grants_longer_cadences_and_fewer_recipients() -> None:
    granted = Entitlements(shortest_cadence_seconds=DAY_SECONDS, most_recipients=1)
    with pytest.raises(MonitoringError, match="1 day here; it is 12 hours"):
        drafted(NEW.with_changes(cadence_seconds=DAY_SECONDS // 2), granted=granted)
    with pytest.raises(MonitoringError, match="at most 1; these are 2"):
        drafted(NEW.with_changes(recipients=("a@b.c", "d@e.f")), granted=granted)


def test_without_a_recipient_whoever_saves_it_is_told_where_that_is_an_address() -> None:
    assert drafted(NEW.with_changes(recipients=None), actor="eve@example.com").recipients == ("eve@example.com",)
    assert drafted(NEW.with_changes(recipients=("b@c.d", "a@b.c", "b@c.d"))).recipients == ("b@c.d", "a@b.c")


@pytest.mark.parametrize(("used", "fits"), [(0, True), (4, True), (5, False), (60, False)])
def test_the_allowance_counts_what_all_other_schedules_use_and_live_runs_do_not_count(used: int, fits: bool) -> None:
    schedule = drafted(NEW.with_changes(runs=4), scenarios=6)
    other = drafted(NEW.with_changes(id="other"), scenarios=max(1, min(used, 50)))
    others = [other] * (used // 50) + ([drafted(scenarios=used % 50)] if used % 50 else [])
    paused = switched_schedule(drafted(scenarios=50), is_on=False, actor="ana", now=NOW)
    granted = Entitlements(scenario_allowance=10)
    if fits:
        check_allowance(schedule, others=[*others, paused], granted=granted)
    else:
        with pytest.raises(MonitoringError, match=f"{used} of 10 scenarios in use by other schedules") as refused:
            check_allowance(schedule, others=[*others, paused], granted=granted)
        assert (refused.value.code, refused.value.field) == ("allowance_exceeded", "scenarios")
    check_allowance(schedule.with_changes(is_on=False), others=[*others, paused], granted=granted)


def test_a_stored_header_value_stays_for_its_address_alone() -> None:
    stored = drafted().with_changes(auth=StoredHeader(token="t", last_chars="5678", address="https://agent.example:443"))
    assert kept_header(stored, address="https://agent.example:443") == stored.auth
    assert kept_header(None, address="https://agent.example:443") is None
    for address in ("http://agent.example:443", "https://agent.example:8443", "https://other.example:443"):
        with pytest.raises(MonitoringError) as refused:
            kept_header(stored, address=address)
        assert (refused.value.code, refused.value.field) == ("header_needed_again", "authorization")


def test_what_a_change_does_not_name_stays() -> None:
    first = drafted(NEW.with_changes(runs=3, cadence_seconds=2 * DAY_SECONDS, at=time(2), timezone="Asia/Kathmandu", timeout_seconds=5))
    later = NOW + timedelta(days=3)
    changed = drafted(ScheduleRequest(id="nightly", runs=1), first, actor="eve", now=later)
    assert changed == first.with_changes(runs=1, saved_by="eve", saved_at=later)
    assert changed.active_since == NOW


def test_the_same_time_of_day_again_moves_no_slot() -> None:
    weekly = NEW.with_changes(cadence_seconds=7 * DAY_SECONDS, at=time(2, 30), timezone="Europe/Berlin")
    first = drafted(weekly)
    again = drafted(weekly, first, now=NOW + timedelta(days=3))
    assert (again.first_at, again.active_since) == (first.first_at, first.active_since)


def test_another_cadence_counts_from_now_and_never_back_over_what_was_not_due() -> None:
    daily = drafted(NEW.with_changes(at=time(2)))
    later = NOW + timedelta(days=10)
    hourly = drafted(ScheduleRequest(id="nightly", cadence_seconds=HOUR_SECONDS), daily, now=later)
    assert list(due_slots(hourly, after=None, now=later)) == []
    upcoming = next_slot(hourly, now=later)
    assert upcoming is not None
    assert upcoming.at == datetime(2026, 12, 11, 15, tzinfo=UTC)


def test_a_pause_is_not_due_afterwards() -> None:
    daily = drafted(NEW.with_changes(at=time(2)))
    paused = switched_schedule(daily, is_on=False, actor="ana", now=NOW + timedelta(days=1))
    back = NOW + timedelta(days=5)
    resumed = switched_schedule(paused, is_on=True, actor="ana", now=back)
    saved = drafted(ScheduleRequest(id="nightly", is_on=True), paused, now=back)
    for schedule in (resumed, saved):
        assert list(due_slots(schedule, after=None, now=back)) == []
        assert schedule.active_since == back
    assert drafted(ScheduleRequest(id="nightly", runs=2), paused, now=back).active_since == paused.active_since


def test_a_schedule_that_names_no_time_begins_with_the_next_minute() -> None:
    assert drafted().first_at == datetime(2026, 12, 1, 14, 38, tzinfo=UTC)


def test_another_clock_keeps_the_time_of_day() -> None:
    first = drafted(NEW.with_changes(at=time(3)))
    moved = drafted(ScheduleRequest(id="nightly", timezone="Asia/Tokyo"), first)
    assert moved.first_at.astimezone(ZoneInfo("Asia/Tokyo")).time() == time(3)


@given(
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "UTC"]),
    now=st.integers(0, 730 * DAY_SECONDS).map(lambda seconds: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)),
    at=st.times().map(lambda moment: moment.replace(second=0, microsecond=0)),
    cadence_seconds=st.sampled_from(
        [HOUR_SECONDS, 5_400, 6 * HOUR_SECONDS, DAY_SECONDS, 36 * HOUR_SECONDS, 2 * DAY_SECONDS, 7 * DAY_SECONDS]
    ),
)
def test_the_first_slot_comes_within_a_cadence_and_later_ones_keep_the_hour_whatever_day_it_was_saved(
    zone: str, now: datetime, at: time, cadence_seconds: int
) -> None:
    schedule = drafted(NEW.with_changes(timezone=zone, at=at, cadence_seconds=cadence_seconds), now=now)
    first = next_slot(schedule, now=now)
    assert first is not None
    # A clock that goes back has a day of 25 hours.
    assert now < first.at <= now + timedelta(seconds=max(min(cadence_seconds, DAY_SECONDS), HOUR_SECONDS) + HOUR_SECONDS)
    if cadence_seconds % DAY_SECONDS == 0:
        later = next_slot(schedule, now=now + timedelta(days=40))
        assert later is not None
        local = later.at.astimezone(ZoneInfo(zone))
        is_skipped = local.replace(hour=at.hour, minute=at.minute).astimezone(UTC).astimezone(ZoneInfo(zone)).time() != at
        assert local.time() == at or is_skipped


def test_a_schedule_saved_on_the_day_that_skips_its_hour_keeps_that_hour_on_every_other_day() -> None:
    eve = datetime(2027, 3, 27, 20, tzinfo=UTC)
    schedule = drafted(NEW.with_changes(timezone="Europe/Berlin", at=time(2, 30), cadence_seconds=2 * DAY_SECONDS), now=eve)
    slots = list(due_slots(schedule, after=None, now=eve + timedelta(days=5)))
    assert [slot.at.astimezone(ZoneInfo("Europe/Berlin")).strftime("%d %H:%M") for slot in slots] == ["28 03:30", "30 02:30", "01 02:30"]


@pytest.mark.parametrize("address", ["ana@example.com", "a.b+c@x-y.example", "jose@ex\u00e4mple.de", "root@localhost"])
def test_mail_addresses_are_taken_as_they_are_written(address: str) -> None:
    assert is_mail_address(address)


def test_spans_are_said_in_their_largest_whole_unit() -> None:
    assert [duration_words(seconds) for seconds in (7 * DAY_SECONDS, DAY_SECONDS, 5_400, 3_600, 61, 0)] == [
        "7 days",
        "1 day",
        "90 minutes",
        "1 hour",
        "61 seconds",
        "0 seconds",
    ]


def test_a_choice_of_a_run_names_its_batch() -> None:
    assert NEW.with_changes(pins={"refund": RunChoice(batch_id="b-1", run_id="r-1")}).pins["refund"].run_id == "r-1"
