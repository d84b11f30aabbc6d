"""The sentinel under Dagster: its schedule, its days, and what follows a run that failed."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType  # as the instance keeps a switch; there is no public way to it
from dagster._core.remote_origin import InProcessCodeLocationOrigin, RemoteInstigatorOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, ScheduleInstigatorData
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._utils.schedules import schedule_execution_time_iterator  # what the daemon takes its ticks from

from assets.monitoring import SENTINEL_JOB
from evalplatform.monitoring.slots import slot_at
from evalplatform.project.schema import SentinelSettings
from evalplatform.runs.night import Night
from evalplatform.stages.sentinel_days import day_of, slot_of_day
from sensors.failed_nights import failed_nights_sensor
from sensors.monitoring import monitoring_sensor
from sensors.night_freshness import night_freshness_sensor
from sensors.sentinel_schedule import sentinel_schedule
from tests.support.monitored_project import FIRST, MonitoredProject
from tests.support.planned_agent import running_agent

DAY = timedelta(days=1)
ZONES = (
    "Europe/Berlin",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "America/Santiago",
    "Pacific/Apia",
    "America/Havana",
)


@pytest.fixture
def monitored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MonitoredProject]:
    with running_agent() as agent:
        yield MonitoredProject.written_to(tmp_path / "project", agent, monkeypatch)


@pytest.fixture
def with_switches(monitored: MonitoredProject, tmp_path: Path) -> Iterator[None]:
    """An instance that keeps which schedules are started."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        monitored.runs.instance = instance
        yield


def tick(monitored: MonitoredProject, moment: datetime) -> dg.RunRequest | str:
    """What the schedule asks for at a moment of the deployment's clock, or why nothing."""
    monitored.at(moment)
    offset = moment - datetime.now(UTC)
    schedule = sentinel_schedule(monitored.runs.file, monitored.runs.project.settings.sentinel)
    with dg.build_schedule_context(
        instance=monitored.instance, scheduled_execution_time=moment - offset, repository_def=monitored.definitions.get_repository_def()
    ) as context:
        data = schedule.evaluate_tick(context)
    return data.run_requests[0] if data.run_requests else str(data.skip_message)


def switched_on(monitored: MonitoredProject, since: datetime) -> None:
    """Start the schedule in the instance, as the UI does, at a moment of the deployment's clock as it is set now."""
    target = InProcessCodeLocationOrigin(LoadableTargetOrigin(executable_path="python", module_name="evalplatform.definitions"))
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(target, "__repository__"), "sentinel_schedule")
    data = ScheduleInstigatorData("30 2 * * *", start_timestamp=since.timestamp() - monitored.offset_seconds)
    state = InstigatorState(origin, InstigatorType.SCHEDULE, InstigatorStatus.RUNNING, data)
    if monitored.instance.all_instigator_state():
        monitored.instance.update_instigator_state(state)
    else:
        monitored.instance.add_instigator_state(state)


def run(monitored: MonitoredProject, request: dg.RunRequest | str) -> dg.ExecuteInProcessResult:
    assert isinstance(request, dg.RunRequest)
    return monitored.run(request, "sentinel_night")


@pytest.mark.usefixtures("with_switches")
def test_the_night_of_a_day_is_asked_for_once_and_run_with_both_legs(monitored: MonitoredProject) -> None:
    request = tick(monitored, FIRST)
    assert isinstance(request, dg.RunRequest)
    assert (request.run_key, request.partition_key) == ("night:2026-12-01:1", "2026-12-01")
    assert monitored.instance.get_dynamic_partitions("monitoring.days") == ["2026-12-01"]
    result = run(monitored, request)
    assert result.success, monitored.failure(result)
    (night,) = monitored.nights("sentinel")
    assert (night.source, night.state, night.slot.at) == ("sentinel", "checked_clean", FIRST)
    assert sorted(monitored.agent.asked) == [("cancel", 0), ("refund", 0)]
    assert monitored.passed("sentinel_nights", "no_drift", "2026-12-01")
    assert tick(monitored, FIRST + timedelta(minutes=5)) == "The night of 2026-12-01 has ended before."


@pytest.mark.usefixtures("with_switches")
def test_days_while_nobody_looked_are_recorded_as_missed_and_the_last_one_runs(monitored: MonitoredProject) -> None:
    assert run(monitored, tick(monitored, FIRST)).success
    late = FIRST + 3 * DAY + timedelta(hours=1)
    monitored.at(late)
    switched_on(monitored, FIRST - timedelta(hours=1))
    request = tick(monitored, late)
    assert isinstance(request, dg.RunRequest)
    assert request.partition_key == "2026-12-04"
    assert run(monitored, request).success
    nights = monitored.nights("sentinel")
    assert [(night.slot.local_date.day, night.reason or night.state) for night in nights] == [
        (1, "checked_clean"),
        (2, "missed_slot"),
        (3, "missed_slot"),
        (4, "checked_clean"),
    ]
    monitored.look(monitoring_sensor(monitored.runs.file))
    assert monitored.made("sentinel_nights") == {f"2026-12-0{day}" for day in (1, 2, 3, 4)}
    assert not monitored.passed("sentinel_nights", "could_check", "2026-12-02")


@pytest.mark.usefixtures("with_switches")
def test_a_night_by_hand_stands_for_its_own_day_and_hides_no_earlier_one(monitored: MonitoredProject) -> None:
    monitored.at(FIRST + 3 * DAY)
    with monitored.monitoring() as monitoring:
        slot = slot_at(FIRST + 2 * DAY + timedelta(hours=5), "UTC")
        night = Night(source="sentinel", stream="sentinel", slot=slot, state="checked_clean", ended_at=slot.at)
        monitoring.store.record(night)
    switched_on(monitored, FIRST - timedelta(hours=1))
    tick(monitored, FIRST + 3 * DAY)
    nights = [(night.slot.local_date.day, night.reason or night.state) for night in monitored.nights("sentinel")]
    assert nights == [(1, "missed_slot"), (2, "missed_slot"), (3, "checked_clean")]


@pytest.mark.usefixtures("with_switches")
def test_nothing_was_missed_before_the_schedule_was_started(monitored: MonitoredProject) -> None:
    monitored.at(FIRST + 2 * DAY)
    switched_on(monitored, FIRST + DAY - timedelta(hours=2))
    tick(monitored, FIRST + 2 * DAY)
    assert [night.slot.local_date.day for night in monitored.nights("sentinel")] == [2]


def test_a_tick_that_comes_a_day_late_runs_nothing(monitored: MonitoredProject) -> None:
    schedule = sentinel_schedule(monitored.runs.file, monitored.runs.project.settings.sentinel)
    monitored.at(FIRST + DAY)
    offset = FIRST + DAY - datetime.now(UTC)
    with dg.build_schedule_context(instance=monitored.instance, scheduled_execution_time=FIRST - offset) as context:
        assert "is over" in str(schedule.evaluate_tick(context).skip_message)


def test_a_day_that_is_over_or_to_come_cannot_be_run_by_hand(monitored: MonitoredProject) -> None:
    monitored.instance.add_dynamic_partitions("monitoring.days", ["2026-11-29", "2026-12-03"])
    for key in ("2026-11-29", "2026-12-03"):
        result = monitored.run(dg.RunRequest(partition_key=key), "sentinel_night")
        assert f"{key} has no night, and none can be made now" in monitored.failure(result)
    assert monitored.nights("sentinel") == []
    assert monitored.agent.asked == []


def failed_run(monitored: MonitoredProject, key: str = "2026-12-01") -> dg.RunRequest | str:
    """What follows when a run of that day has failed."""
    job = monitored.definitions.resolve_job_def(SENTINEL_JOB.name)
    instance = monitored.instance
    instance.add_dynamic_partitions("monitoring.days", [key])
    made = instance.create_run_for_job(job, tags={"dagster/partition": key})
    instance.report_run_failed(made)
    entry = next(
        record.event_log_entry
        for record in instance.get_records_for_run(made.run_id).records
        if record.event_log_entry.dagster_event and record.event_log_entry.dagster_event.is_job_failure
    )
    assert entry.dagster_event is not None
    context = dg.build_run_status_sensor_context(
        sensor_name="failed_nights", dagster_event=entry.dagster_event, dagster_instance=instance, dagster_run=made
    ).for_run_failure()
    found = failed_nights_sensor(monitored.runs.file)(context)
    return found if isinstance(found, dg.RunRequest) else str(found.skip_message)


def begin(monitored: MonitoredProject) -> None:
    with monitored.monitoring() as monitoring:
        slot = slot_of_day(SentinelSettings(), FIRST.date())
        monitoring.store.begin(Night(source="sentinel", stream="sentinel", slot=slot, began_at=FIRST))


def test_a_failed_night_is_tried_three_times_and_then_a_failed_check(monitored: MonitoredProject) -> None:
    monitored.at(FIRST)
    begin(monitored)
    asked = [failed_run(monitored) for _ in range(3)]
    assert [one.run_key for one in asked[:2] if isinstance(one, dg.RunRequest)] == ["night:2026-12-01:2", "night:2026-12-01:3"]
    assert asked[2] == "The check failed (missed_slot): 3 attempts ended without an answer."
    (night,) = monitored.nights("sentinel")
    assert (night.state, night.reason) == ("check_failed", "missed_slot")


def test_a_failed_night_of_a_day_that_is_over_is_not_tried_again(monitored: MonitoredProject) -> None:
    monitored.at(FIRST + DAY)
    assert failed_run(monitored) == "The check failed (missed_slot): its only attempt ended without an answer."


def test_a_night_that_is_tried_again_goes_on_where_the_last_attempt_was(monitored: MonitoredProject) -> None:
    monitored.at(FIRST)
    begin(monitored)
    assert run(monitored, failed_run(monitored)).success
    (night,) = monitored.nights("sentinel")
    assert (night.state, night.attempt) == ("checked_clean", 2)


@pytest.mark.usefixtures("with_switches")
def test_the_sentinel_is_late_only_while_its_schedule_is_started(monitored: MonitoredProject) -> None:
    freshness = night_freshness_sensor(monitored.runs.file)
    monitored.at(FIRST + timedelta(hours=2))
    cursor = monitored.look(freshness).cursor
    assert monitored.passed("sentinel_nights", "nights_on_time")
    switched_on(monitored, FIRST - DAY)
    late = monitored.look(freshness, cursor)
    assert not monitored.passed("sentinel_nights", "nights_on_time")
    assert run(monitored, tick(monitored, FIRST + timedelta(hours=2))).success
    monitored.look(freshness, late.cursor)
    assert monitored.passed("sentinel_nights", "nights_on_time")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("at", ["00:00", "02:30"])
def test_the_schedule_has_exactly_one_tick_on_every_day_of_a_year_of_clock_changes(zone: str, at: str) -> None:
    settings = SentinelSettings(at=at, timezone=zone)
    schedule = sentinel_schedule(Path("evalplatform.yaml"), settings)
    start = datetime(2025, 12, 31, 12, tzinfo=ZoneInfo(zone))
    moments = schedule_execution_time_iterator(start.timestamp(), schedule.cron_schedule, schedule.execution_timezone, ascending=True)
    days = [day_of(settings, next(moments)) for _ in range(400)]
    assert days == [date(2026, 1, 1) + number * DAY for number in range(400)]
