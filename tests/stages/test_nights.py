"""Nights of a schedule: which are due, what each one asks and reads, what makes it a failed check, and what it costs."""

import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalplatform.artifacts.blobs import blob_key
from evalplatform.kernel.errors import MonitoringError
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.night import Night
from evalplatform.runs.schedule import DAY_SECONDS, HOUR_SECONDS, StoredHeader
from evalplatform.stages.due_nights import DueNights, NightToRun, due_nights
from evalplatform.stages.night_legs import nights_folder
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.night_runs import Runs, night_of
from tests.support.planned_agent import PlannedAgent

ENTRY = AuditEntry(actor="tester", action="monitoring.schedule_removed", subject="checkout", happened_at=FIRST)


def due(monitored: MonitoredProject, runs: Runs | None = None, *, at: datetime | None = None) -> DueNights:
    if at is not None:
        monitored.at(at)
    with monitored.monitoring() as context:
        return due_nights(context, runs or Runs())


def run(monitored: MonitoredProject, one: NightToRun) -> Night:
    with monitored.monitoring() as context:
        return night_of(context, one)


def first_night(monitored: MonitoredProject, **schedule: Any) -> Night:
    """Save a schedule and run its first night."""
    monitored.schedule(**schedule)
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    return run(monitored, one)


def test_a_slot_is_due_from_its_instant_on_and_asked_for_once(monitored: MonitoredProject) -> None:
    monitored.schedule()
    assert due(monitored, at=FIRST - timedelta(seconds=5)) == DueNights((), ())
    (one,) = due(monitored, at=FIRST + timedelta(seconds=5)).to_run
    assert (one.stream, one.slot.at, one.attempt) == ("checkout", FIRST, 1)
    assert due(monitored, Runs(under_way={one.key})).to_run == (), "its run waits or is going on"
    run(monitored, one)
    assert due(monitored) == DueNights((), ())


def test_after_downtime_each_skipped_slot_is_recorded_and_only_the_latest_runs(monitored: MonitoredProject) -> None:
    monitored.schedule(cadence_seconds=6 * HOUR_SECONDS)
    found = due(monitored, at=FIRST + timedelta(hours=19))
    assert [one.slot.at for one in found.to_run] == [FIRST + timedelta(hours=18)]
    assert [(night.slot.at, night.state, night.reason) for night in found.recorded] == [
        (FIRST + timedelta(hours=6 * step), "check_failed", "missed_slot") for step in range(3)
    ]
    assert [night.alert and night.alert.kind for night in found.recorded] == ["monitor_failed", None, None]
    assert [night.cost for night in found.recorded] == [None] * 3
    again = due(monitored)
    assert (again.recorded, len(again.to_run)) == ((), 1), "looking twice records nothing twice"
    run(monitored, again.to_run[0])
    assert [night.state for night in monitored.nights()] == ["check_failed"] * 3 + ["checked_clean"]


def test_a_night_that_was_interrupted_is_started_again_while_its_slot_is_the_latest(monitored: MonitoredProject) -> None:
    monitored.schedule()
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    begin(monitored, one)
    assert due(monitored, Runs(under_way={one.key})).to_run == ()
    (second,) = due(monitored, Runs(ended={one.key: 1})).to_run
    assert (second.key, second.attempt) == (one.key, 2)
    ended = run(monitored, second)
    assert (ended.state, ended.attempt) == ("checked_clean", 2)


def test_a_night_whose_run_died_before_it_began_is_started_under_another_attempt(monitored: MonitoredProject) -> None:
    monitored.schedule()
    (one,) = due(monitored, Runs(ended={f"checkout.{slot_of(FIRST)}": 2}), at=FIRST + timedelta(minutes=1)).to_run
    assert one.attempt == 3
    found = due(monitored, Runs(ended={one.key: 3}))
    assert found.to_run == ()
    (ended,) = found.recorded
    assert (ended.state, ended.reason, ended.detail) == ("check_failed", "missed_slot", "3 attempts ended without an answer.")


def test_a_night_that_is_overtaken_by_the_next_slot_ends_as_missed_and_the_next_one_runs(monitored: MonitoredProject) -> None:
    monitored.schedule()
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    begin(monitored, one)
    found = due(monitored, at=FIRST + timedelta(days=1, minutes=1))
    assert [(night.key, night.reason) for night in found.recorded] == [(one.key, "missed_slot")]
    assert [next_one.slot.at for next_one in found.to_run] == [FIRST + timedelta(days=1)]


def test_a_night_that_is_still_going_on_when_the_next_slot_comes_is_waited_for(monitored: MonitoredProject) -> None:
    monitored.schedule(cadence_seconds=HOUR_SECONDS)
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    begin(monitored, one)
    assert due(monitored, Runs(under_way={one.key}), at=FIRST + timedelta(hours=2)) == DueNights((), ())


@pytest.mark.parametrize("change", ["paused", "removed"])
def test_an_interrupted_night_of_a_schedule_that_is_paused_or_gone_ends_as_missed(monitored: MonitoredProject, change: str) -> None:
    monitored.schedule()
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    begin(monitored, one)
    if change == "paused":
        monitored.schedule(is_on=False)
    else:
        with monitored.monitoring() as context:
            assert context.store.remove("checkout", entry=ENTRY)
    (ended,) = due(monitored).recorded
    assert (ended.key, ended.reason) == (one.key, "missed_slot")
    assert due(monitored) == DueNights((), ())
    assert len(monitored.nights()) == 1, "recorded nights are kept"


def test_paused_time_is_never_missed(monitored: MonitoredProject) -> None:
    monitored.schedule(is_on=False)
    assert due(monitored, at=FIRST + timedelta(days=4)) == DueNights((), ())
    monitored.schedule(active_since=FIRST + timedelta(days=4))
    found = due(monitored, at=FIRST + timedelta(days=4, minutes=1))
    assert (len(found.to_run), found.recorded) == (1, ())


def test_an_allowance_that_dropped_fails_the_next_slot_by_name_and_is_never_skipped_silently(
    monitored: MonitoredProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored.schedule()
    (tmp_path / "granted.yaml").write_text("default: {scenario_allowance: 1}\n")
    monkeypatch.setenv("EVALPLATFORM_ENTITLEMENTS", str(tmp_path / "granted.yaml"))
    found = due(monitored, at=FIRST + timedelta(minutes=1))
    assert found.to_run == ()
    (night,) = found.recorded
    assert (night.reason, night.alert and night.alert.kind) == ("allowance_exceeded", "monitor_failed")
    assert night.detail == "2 scenarios in use across all projects, and 1 granted."
    (tmp_path / "granted.yaml").write_text("default: {withheld: [monitoring.managed]}\n")
    (second,) = due(monitored, at=FIRST + timedelta(days=1, minutes=1)).recorded
    assert second.reason == "allowance_exceeded"


def test_a_quiet_night_asks_each_scenario_n_times_and_says_what_it_took(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    night = first_night(monitored)
    assert (night.state, night.reason, night.alert) == ("checked_clean", None, None)
    assert sorted(agent.asked) == [(name, order) for name in ("cancel", "refund") for order in range(4)]
    assert {header["User-Agent"] for header in agent.headers} == {"evalplatform-monitor/1"}
    assert {header["X-Evalplatform-Project"] for header in agent.headers} == {"probe"}
    assert not any("Authorization" in header for header in agent.headers)
    assert [(one.scenario_id, one.graded, one.failed, one.drift_at) for one in night.scenarios] == [
        ("cancel", 4, 0, 3),
        ("refund", 4, 0, 3),
    ]
    assert night.cost is not None
    assert (night.cost.requests, night.cost.stored_bytes > 0, night.cost.wall_seconds > 0) == (8, True, True)
    with monitored.monitoring() as context:
        live = context.runs.batches.batch(night.live_batch or "")
        assert (live.header.origin, live.header.policy, live.header.branch) == ("night", None, None)
        assert not list(nights_folder(context.project).glob("*"))


def test_a_drifting_agent_is_flagged_by_the_sentinels_rule(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    agent.behave(refund="FFFP", cancel="PFPP")
    night = first_night(monitored)
    assert (night.state, [one.scenario_id for one in night.drifted]) == ("checked_flagged", ["refund"])
    assert night.alert is not None
    assert night.alert.kind == "drift_detected"
    assert [(one.channel, one.address, one.state) for one in night.alert.deliveries] == [("email", "ann@example.com", "pending")]


def test_an_endpoint_at_which_no_run_can_be_made_fails_the_check_and_is_no_drift(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    agent.behave(refund="H", cancel="H")
    night = first_night(monitored)
    assert (night.state, night.reason, night.drifted) == ("check_failed", "endpoint_unreachable", ())
    agent.behave(refund="H", cancel="P")
    (one,) = due(monitored, at=FIRST + timedelta(days=1, minutes=1)).to_run
    half = run(monitored, one)
    assert (half.state, [seen.scenario_id for seen in half.drifted]) == ("checked_flagged", ["refund"]), "nothing was seen of it"


def test_an_endpoint_that_is_gone_fails_the_check(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    night = first_night(monitored, endpoint_url="http://127.0.0.1:9/agent")
    assert (night.state, night.reason) == ("check_failed", "endpoint_unreachable")
    assert agent.asked == []


def test_an_address_that_is_not_allowed_any_more_is_not_asked(
    monitored: MonitoredProject, agent: PlannedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored.schedule()
    monkeypatch.delenv("EVALPLATFORM_MONITORED_HOSTS")
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    night = run(monitored, one)
    assert (night.reason, agent.asked) == ("endpoint_unreachable", [])
    assert "endpoint_loopback" in (night.detail or "")
    assert [(one.scenario_id, one.is_unseen) for one in night.scenarios] == [("cancel", True), ("refund", True)]
    assert night.drifted == ()


def test_a_tampered_pin_fails_the_check_and_no_live_leg_runs(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    schedule = monitored.schedule()
    with monitored.monitoring() as context:
        digest = schedule.pins[0].trajectory_digest
        context.runs.objects.put(blob_key(digest), context.runs.objects.get(blob_key(digest)).replace(b"3 May", b"4 May"))
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    night = run(monitored, one)
    assert (night.state, night.reason, agent.asked) == ("check_failed", "baseline_not_pinned", [])
    assert (night.replay_batch, night.live_batch) == (None, None)
    assert [one.dead and one.dead.kind for one in night.scenarios] == ["not_what_was_pinned"] * 2, "both are pinned to the same steps"
    assert night.drifted == ()


def test_a_pin_whose_run_is_gone_is_a_dead_sensor_of_that_scenario_alone(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    schedule = monitored.schedule()
    (gone,) = [pin.run_id for pin in schedule.pins if pin.scenario_id == "cancel"]
    with sqlite3.connect(monitored.runs.folder / ".evalplatform" / "evalplatform.db") as database:
        assert database.execute("delete from batch_runs where run_id = ?", (gone,)).rowcount == 1
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    night = run(monitored, one)
    assert (night.state, night.reason) == ("check_failed", "dead_sensor")
    (dead,) = night.dead_sensors
    assert dead.dead is not None
    assert (dead.scenario_id, dead.dead.kind) == ("cancel", "pin_gone")
    assert {scenario for scenario, _ in agent.asked} == {"refund"}, "the others' live legs run"


def test_a_pin_that_no_longer_passes_todays_assertions_is_a_dead_sensor(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    monitored.schedule()
    scenarios = monitored.runs.folder / "scenarios.yaml"
    cancel_from = scenarios.read_text().index("- id: cancel")
    scenarios.write_text(scenarios.read_text()[:cancel_from] + scenarios.read_text()[cancel_from:].replace("May", "June"))
    agent.behave(refund="FFFF")
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    flagged = run(monitored, one)
    assert (flagged.state, [dead.scenario_id for dead in flagged.dead_sensors]) == ("checked_flagged", ["cancel"])
    agent.behave()
    (one,) = due(monitored, at=FIRST + timedelta(days=1, minutes=1)).to_run
    night = run(monitored, one)
    assert (night.state, night.reason) == ("check_failed", "dead_sensor"), "with a dead sensor a night is never clean"


def test_a_scenario_that_left_the_file_or_asks_something_else_is_a_dead_sensor(monitored: MonitoredProject) -> None:
    monitored.schedule()
    scenarios = monitored.runs.folder / "scenarios.yaml"
    text = scenarios.read_text()
    scenarios.write_text(text.replace("- id: cancel", "- id: canceled"))
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    first = run(monitored, one)
    assert [dead.dead and dead.dead.kind for dead in first.dead_sensors] == ["not_in_scenario_file"]
    start = text.index("- id: cancel")
    scenarios.write_text(text[:start] + text[start:].replace("When does my refund arrive?", "Cancel it."))
    (one,) = due(monitored, at=FIRST + timedelta(days=1, minutes=1)).to_run
    second = run(monitored, one)
    (dead,) = second.dead_sensors
    assert dead.dead is not None
    assert dead.dead.kind == "cannot_be_replayed"
    assert "was not asked" in dead.dead.detail


def test_a_credential_that_cannot_be_read_fails_the_check_before_anybody_is_asked(
    monitored: MonitoredProject, agent: PlannedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    night = first_night(monitored, auth=StoredHeader(token="gAAAA", last_chars="9876", address=f"http://127.0.0.1:{agent.port}"))
    assert (night.state, night.reason, agent.asked) == ("check_failed", "credential_unreadable", [])
    assert "gAAAA" not in night.model_dump_json()


def test_a_slow_agent_is_bounded_by_each_call_and_the_night_by_all_of_them(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    agent.behave(refund="S", cancel="P")
    night = first_night(monitored, runs=1, timeout_seconds=0.5)
    assert night.cost is not None
    assert night.cost.wall_seconds < 3
    (refund,) = [one for one in night.scenarios if one.scenario_id == "refund"]
    assert night.state in ("checked_flagged", "check_failed")
    assert refund.drifted or night.reason == "budget"


def test_a_night_that_has_ended_is_returned_as_it_is_and_nobody_is_asked_again(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    monitored.schedule()
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    ended = run(monitored, one)
    agent.behave(refund="F", cancel="F")
    assert run(monitored, one) == ended
    assert run(monitored, one._replace(attempt=5)) == ended
    assert agent.asked == []


def test_a_schedule_that_is_not_there_is_refused(monitored: MonitoredProject) -> None:
    with pytest.raises(MonitoringError) as refused:
        run(monitored, NightToRun("checkuot", first_slot(monitored), 1))
    assert refused.value.code == "schedule_unknown"


def test_schedules_of_a_project_have_nights_and_standings_of_their_own(monitored: MonitoredProject, agent: PlannedAgent) -> None:
    monitored.schedule()
    monitored.schedule("hourly", cadence_seconds=HOUR_SECONDS, runs=1)
    found = due(monitored, at=FIRST + timedelta(minutes=1))
    assert sorted(one.stream for one in found.to_run) == ["checkout", "hourly"]
    agent.behave(refund="F")
    states = {one.stream: run(monitored, one).state for one in found.to_run}
    assert states == {"checkout": "checked_flagged", "hourly": "checked_flagged"}
    assert [one.stream for one in due(monitored, at=FIRST + timedelta(hours=1, minutes=1)).to_run] == ["hourly"]
    assert DAY_SECONDS == 24 * HOUR_SECONDS


def begin(monitored: MonitoredProject, one: NightToRun) -> None:
    """Leave a night as a process does that dies in it."""
    night = Night(source="monitor", stream=one.stream, slot=one.slot, attempt=one.attempt, began_at=FIRST)
    with monitored.monitoring() as context:
        assert context.store.begin(night).is_ours


def slot_of(moment: datetime) -> str:
    return f"{moment:%Y%m%dt%H%M%Sz}-{moment.date().isoformat()}"


def first_slot(monitored: MonitoredProject) -> Any:
    monitored.schedule()
    (one,) = due(monitored, at=FIRST + timedelta(minutes=1)).to_run
    return one.slot
