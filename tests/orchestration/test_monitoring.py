"""Nights of schedules under Dagster: what the sensor asks for, what it records, and what each night leaves."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from evalplatform.runs.night import Night, Slot
from sensors.alerts import alert_sensor
from sensors.drift_history import drift_history_sensor
from sensors.monitoring import monitoring_sensor
from sensors.night_freshness import night_freshness_sensor
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.planned_agent import running_agent

DAY = timedelta(days=1)
JOB = "monitoring_night"
FIRST_KEY = "checkout.20261201t023000z-2026-12-01"


@pytest.fixture
def monitored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MonitoredProject]:
    with running_agent() as agent:
        yield MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)


def look(monitored: MonitoredProject) -> dg.SensorResult:
    return monitored.look(monitoring_sensor(monitored.runs.file))


def asked(result: dg.SensorResult) -> list[str | None]:
    return [request.run_key for request in result.run_requests or []]


def run_due(monitored: MonitoredProject) -> list[dg.ExecuteInProcessResult]:
    return [monitored.run(request, JOB) for request in look(monitored).run_requests or []]


def test_a_due_night_is_asked_for_once_run_and_shown_with_its_reading_and_its_cost(monitored: MonitoredProject) -> None:
    monitored.schedule()
    assert asked(look(monitored)) == []
    monitored.at(FIRST + timedelta(minutes=1))
    first, second = look(monitored), look(monitored)
    assert asked(first) == asked(second) == [f"night:{FIRST_KEY}:1"]  # of one run key Dagster starts one run
    (request,) = first.run_requests or []
    assert request.partition_key == FIRST_KEY
    assert (request.tags or {})["evalplatform/night"] == FIRST_KEY
    result = monitored.run(request, JOB)
    assert result.success, monitored.failure(result)
    (night,) = monitored.nights()
    assert (night.key, night.state, night.attempt) == (FIRST_KEY, "checked_clean", 1)
    assert sorted(monitored.agent.asked) == sorted((name, run) for name in ("cancel", "refund") for run in range(4))
    (event,) = result.get_asset_materialization_events()
    shown = event.materialization.metadata
    assert (shown["state"].value, shown["scenarios"].value, shown["drifted"].value, shown["requests"].value) == ("checked_clean", 2, 0, 8)
    assert "No drift: 2 scenarios checked." in str(shown["result"].value)
    assert str(shown["report_page"].value).endswith("night.html")
    assert "refund" in str(shown["preview"].value)
    assert monitored.passed("monitoring_nights", "no_drift", FIRST_KEY)
    assert asked(look(monitored)) == []


def test_a_drifting_agent_fails_the_check_and_not_the_run(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.agent.behave(refund="F")
    monitored.at(FIRST)
    assert [result.success for result in run_due(monitored)] == [True]
    assert [night.state for night in monitored.nights()] == ["checked_flagged"]
    assert monitored.passed("monitoring_nights", "could_check", FIRST_KEY)
    assert not monitored.passed("monitoring_nights", "no_drift", FIRST_KEY)


def test_a_night_that_could_not_run_passes_neither_check(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.agent.behave(refund="H", cancel="H")
    monitored.at(FIRST)
    assert [result.success for result in run_due(monitored)] == [True]
    (night,) = monitored.nights()
    assert (night.state, night.reason) == ("check_failed", "endpoint_unreachable")
    assert not monitored.passed("monitoring_nights", "could_check", FIRST_KEY)
    assert not monitored.passed("monitoring_nights", "no_drift", FIRST_KEY)


def test_what_an_agent_said_when_it_refused_is_not_shown_by_dagster(monitored: MonitoredProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monitored.schedule()
    said = "the customer is Jane Roe"
    monkeypatch.setattr(monitored.agent, "answer", lambda request: (403, {"error": {"message": said}}))
    monitored.at(FIRST)
    (result,) = run_due(monitored)
    (night,) = monitored.nights()
    assert said in (night.detail or "")
    shown = [str(event.event_specific_data) for event in result.all_events]
    assert any("the agent could not be reached, or could not be run" in one for one in shown)
    assert not [one for one in shown if said in one or f"127.0.0.1:{monitored.agent.port}" in one]


def test_after_downtime_only_the_latest_slot_runs_and_every_skipped_one_is_told_of(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.at(FIRST + 3 * DAY)
    result = look(monitored)
    assert asked(result) == ["night:checkout.20261204t023000z-2026-12-04:1"]
    missed = monitored.nights()
    assert [(night.slot.local_date.day, night.reason) for night in missed] == [(day, "missed_slot") for day in (1, 2, 3)]
    assert monitored.made("monitoring_nights") == {night.key for night in missed}
    assert not monitored.passed("monitoring_nights", "could_check", FIRST_KEY)
    for request in result.run_requests or []:
        assert monitored.run(request, JOB).success
    assert [night.state for night in monitored.nights()] == ["check_failed"] * 3 + ["checked_clean"]
    assert asked(look(monitored)) == []
    assert len(monitored.nights()) == 4


def test_a_night_whose_run_is_over_without_an_end_goes_on_under_a_new_attempt_three_at_most(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.at(FIRST)
    keys = []
    for _ in range(3):
        requests = look(monitored).run_requests or []
        keys += [request.run_key for request in requests]
        for request in requests:
            _fail(monitored, request)
    assert keys == [f"night:{FIRST_KEY}:{attempt}" for attempt in (1, 2, 3)]
    assert asked(look(monitored)) == []
    (night,) = monitored.nights()
    assert (night.state, night.reason, night.detail) == ("check_failed", "missed_slot", "3 attempts ended without an answer.")
    assert monitored.agent.asked == []


def _begin(monitored: MonitoredProject) -> None:
    """Store the first night as pending, as its run does when it begins."""
    with monitored.monitoring() as monitoring:
        slot = Slot(at=FIRST, local_date=FIRST.date())
        monitoring.store.begin(Night(source="monitor", stream="checkout", slot=slot, began_at=FIRST))


def _fail(monitored: MonitoredProject, request: dg.RunRequest) -> None:
    """A run of the partition that is over, as after a kill."""
    run = monitored.instance.create_run_for_job(_empty_job, tags=dict(request.tags or {}))
    monitored.instance.report_run_failed(run)


@dg.job
def _empty_job() -> None:
    """A job of nothing."""


def test_a_night_that_a_run_is_at_is_left_to_it(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.at(FIRST)
    (request,) = look(monitored).run_requests or []
    run = monitored.instance.create_run_for_job(_empty_job, tags=dict(request.tags or {}))
    assert asked(look(monitored)) == []
    _begin(monitored)
    monitored.at(FIRST + DAY)
    assert asked(look(monitored)) == []  # one night of a schedule at a time
    monitored.instance.report_run_failed(run)
    assert asked(look(monitored)) == ["night:checkout.20261202t023000z-2026-12-02:1"]
    assert [(night.key, night.reason) for night in monitored.nights()] == [(FIRST_KEY, "missed_slot")]


def test_a_person_may_have_an_ended_night_shown_again_which_asks_nobody(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.at(FIRST)
    run_due(monitored)
    monitored.agent.behave()
    again = monitored.run(dg.RunRequest(partition_key=FIRST_KEY), JOB)
    assert again.success
    (event,) = again.get_asset_materialization_events()
    assert event.materialization.metadata["unchanged"].value is True
    assert monitored.agent.asked == []


def test_a_person_does_not_take_a_night_from_a_run_that_is_at_it(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.at(FIRST)
    (request,) = look(monitored).run_requests or []
    _begin(monitored)
    monitored.instance.create_run_for_job(_empty_job, tags=dict(request.tags or {}))
    refused = monitored.run(dg.RunRequest(partition_key=FIRST_KEY), JOB)
    assert not refused.success
    assert monitored.agent.asked == []
    assert [night.attempt for night in monitored.nights()] == [1]


def test_a_paused_schedule_has_no_night_and_is_never_late(monitored: MonitoredProject) -> None:
    monitored.schedule(is_on=False)
    monitored.at(FIRST + 3 * DAY)
    assert asked(look(monitored)) == []
    assert monitored.nights() == []
    freshness = night_freshness_sensor(monitored.runs.file)
    assert monitored.look(freshness).cursor
    assert monitored.passed("monitoring_nights", "nights_on_time")


def test_a_schedule_that_nobody_starts_nights_of_is_late_after_an_hour_and_told_of_once(monitored: MonitoredProject) -> None:
    monitored.schedule()
    freshness = night_freshness_sensor(monitored.runs.file)
    monitored.at(FIRST + timedelta(minutes=59))
    cursor = monitored.look(freshness).cursor
    assert monitored.passed("monitoring_nights", "nights_on_time")
    monitored.at(FIRST + timedelta(minutes=61))
    late = monitored.look(freshness, cursor)
    assert not monitored.passed("monitoring_nights", "nights_on_time")
    assert monitored.passed("sentinel_nights", "nights_on_time")
    again = monitored.look(freshness, late.cursor)
    assert "checkout has no night for 2026-12-01 02:30 UTC." in str(again.skip_reason)


def test_the_history_is_made_anew_when_a_night_has_ended_and_again_where_that_failed(monitored: MonitoredProject) -> None:
    history = drift_history_sensor(monitored.runs.file)
    assert asked(monitored.look(history)) == []
    monitored.schedule()
    monitored.at(FIRST)
    run_due(monitored)
    first = monitored.look(history)
    (request,) = first.run_requests or []
    assert asked(monitored.look(history, first.cursor)) == []
    _fail(monitored, request)
    again = monitored.look(history, first.cursor)
    assert [key and key[-2:] for key in asked(again)] == [":2"]
    (request,) = again.run_requests or []
    result = monitored.run(request, "drift_history")
    assert result.success, monitored.failure(result)
    shown = {
        event.asset_key.path[-1]: event.materialization.metadata for event in result.get_asset_materialization_events() if event.asset_key
    }
    assert shown["standings"]["clean"].value == 1
    assert shown["drift_history"]["nights"].value == 1


def test_no_address_recipient_or_secret_of_a_schedule_is_in_what_dagster_keeps(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.agent.behave(refund="F")
    monitored.at(FIRST)
    (result,) = run_due(monitored)
    run = monitored.instance.get_run_by_id(result.run_id)
    assert run is not None
    kept = [json.dumps([run.run_config, run.tags])]
    kept += [str(event.materialization.metadata) for event in result.get_asset_materialization_events()]
    assert not [text for text in kept if "ann@example.com" in text or monitored.agent.url in text or "On 3 May" in text]


def test_an_alert_goes_out_with_a_look_and_without_a_mail_server_its_delivery_says_why_not(monitored: MonitoredProject) -> None:
    monitored.schedule()
    monitored.agent.behave(refund="F")
    monitored.at(FIRST)
    run_due(monitored)
    told = monitored.look(alert_sensor(monitored.runs.file))
    assert told.skip_reason is not None
    assert "1 to be tried again" in str(told.skip_reason)
    assert "No alert is due." in str(monitored.look(alert_sensor(monitored.runs.file)).skip_reason)
