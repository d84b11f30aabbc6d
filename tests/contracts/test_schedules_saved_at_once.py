"""Schedules that several people save at the same time, in several projects: together they never pass what the tenant is granted."""

from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Barrier, Thread

import pytest

from evalplatform.adapters.monitoring.open import open_monitoring_store
from evalplatform.kernel.errors import MonitoringError
from evalplatform.monitoring.schedule_rules import check_allowance
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.monitoring import ProjectSchedule
from evalplatform.project.entitlements import Entitlements
from evalplatform.runs.schedule import Pin, Schedule

NOW = datetime(2026, 12, 1, tzinfo=UTC)
WRITERS = 6
GRANTED = Entitlements(scenario_allowance=2)


def one_scenario(name: str) -> Schedule:
    return Schedule(
        id=name,
        pins=(Pin(scenario_id="refund", batch_id="b-1", run_id="r-1", trajectory_digest="sha256:1"),),
        first_at=NOW,
        endpoint_url="https://agent.example/",
        recipients=("ana@example.com",),
        active_since=NOW,
        saved_by="ana",
        saved_at=NOW,
    )


def saved(url: str, number: int, start: Barrier) -> str:
    """Save a schedule at the same moment as all the others; return `saved`, or the code of the refusal."""
    schedule = one_scenario(f"s{number}")
    entry = AuditEntry(actor="ana", action="monitoring.schedule_saved", subject=schedule.id, happened_at=NOW)
    store = open_monitoring_store(url, project=f"p{number % 2}", tenant="acme")

    def check(stored: Sequence[ProjectSchedule]) -> None:
        check_allowance(schedule, others=[found.schedule for found in stored], granted=GRANTED)

    try:
        start.wait()
        store.save(schedule, replaces=None, entry=entry, check=check)
    except MonitoringError as error:
        return error.code
    finally:
        store.close()
    return "saved"


def test_of_many_who_save_at_once_no_more_are_saved_than_fit(url: str) -> None:
    open_monitoring_store(url, project="p0", tenant="acme").close()  # its tables are there
    start = Barrier(WRITERS)
    ends: list[str] = []
    threads = [Thread(target=lambda number=number: ends.append(saved(url, number, start))) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends) == ["allowance_exceeded"] * (WRITERS - 2) + ["saved"] * 2
    store = open_monitoring_store(url, project="p0", tenant="acme")
    assert len(store.tenant_schedules()) == 2
    store.close()


def test_what_a_check_refuses_leaves_the_stored_schedule_and_no_trace(url: str) -> None:
    store = open_monitoring_store(url, project="p0", tenant="acme")
    first = one_scenario("nightly")
    entry = AuditEntry(actor="ana", action="monitoring.schedule_saved", subject="nightly", happened_at=NOW)
    store.save(first, replaces=None, entry=entry)

    def refuse(stored: Sequence[ProjectSchedule]) -> None:
        assert stored == [ProjectSchedule("p0", first)]
        raise MonitoringError("allowance_exceeded", "no", field="scenarios")

    with pytest.raises(MonitoringError):
        store.save(first.with_changes(runs=2), replaces=first, entry=entry, check=refuse)
    assert store.schedule("nightly") == first
    store.close()
