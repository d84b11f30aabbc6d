"""What every batch store promises of taking runs out of batches, and of trajectories that no run names any more."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

from evalplatform.adapters.batches import retention as rows_of_retention
from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.adapters.batches.sql import SqlBatchStore, audit_table, batches_table, runs_table, violations_table
from evalplatform.adapters.monitoring.open import open_monitoring_store
from evalplatform.adapters.monitoring.sql import SqlMonitoringStore
from evalplatform.kernel.errors import InputError, MonitoringError, StorageError, UnknownNameError
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import Violation
from evalplatform.runs.schedule import Pin, Schedule
from tests.support.recorded_batches import NOW, recorded
from tests.support.stored_rows import rows

PUSHED = AuditEntry(actor="ana", action="batches.push", subject="b", happened_at=NOW)
RETAINED = AuditEntry(actor="daily", action="batches.compact", subject="b", old_value={"runs": 5}, new_value={"runs": 2}, happened_at=NOW)
FOUND = (Violation(policy="ssn", step=2), Violation(policy="card", step=1))


@contextmanager
def opened(url: str, project: str = "probe", tenant: str = "default") -> Iterator[SqlBatchStore]:
    store = open_batch_store(url, project=project, tenant=tenant)
    try:
        yield store
    finally:
        store.close()


def added(store: SqlBatchStore, summary: BundleSummary) -> str:
    return store.add(summary.batch, summary.runs, entry=PUSHED).batch.id


def removed_by(store: SqlBatchStore, digests: Collection[str]) -> set[str]:
    removed: list[str] = []
    assert store.remove_unused(digests, removed.extend) == len(removed)
    return set(removed)


def test_a_compacted_batch_keeps_the_named_runs_with_their_violations_and_all_that_was_recorded_of_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_of_retention, "CHUNK_ROWS", 2)
    summary = recorded({"a": "PFP", "b": "PP"}, violations=FOUND)
    other = recorded({"a": "PP"}, commit="other", violations=FOUND)
    kept = [run for run in summary.runs if (run.scenario_id, run.order) in {("a", 0), ("a", 2), ("b", 1)}]
    with opened(url) as store:
        batch_id, other_id = added(store, summary), added(store, other)
        assert store.compact(batch_id, keep=[run.id for run in kept], entry=RETAINED)
    with opened(url) as store:
        assert list(store.runs(batch_id)) == kept
        assert store.batch(batch_id) == summary.batch.with_changes(retention="compacted")
        assert tuple(store.runs(other_id)) == other.runs
    assert len(rows(url, violations_table)) == 2 * (len(kept) + len(other.runs))
    (entry,) = (row for row in rows(url, audit_table) if row["action"] == "batches.compact")
    assert (entry["project"], entry["actor"], entry["old_value"], entry["new_value"]) == ("probe", "daily", {"runs": 5}, {"runs": 2})


def test_an_expired_batch_keeps_no_run_whether_it_was_whole_or_compacted_and_its_content_is_still_known(url: str) -> None:
    summary = recorded({"a": "PF"}, violations=FOUND)
    with opened(url) as store:
        batch_id = added(store, summary)
        compacted_id = added(store, recorded({"a": "PF"}, commit="second"))
        assert store.compact(compacted_id, keep=[run.id for run in store.runs(compacted_id)][:1], entry=RETAINED)
        for name in (batch_id, compacted_id):
            assert store.expire(name, entry=RETAINED.with_changes(action="batches.expire"))
            assert list(store.runs(name)) == []
            assert store.batch(name).retention == "expired"
        again = store.add(summary.batch, summary.runs, entry=PUSHED)
        assert (again.already_there, again.batch.retention) == (True, "expired"), "what was pushed again does not come back"
    assert rows(url, runs_table) == rows(url, violations_table) == []


def test_a_batch_is_compacted_once_and_expires_once_and_never_the_other_way(url: str) -> None:
    with opened(url) as store:
        batch_id = added(store, recorded({"a": "PPF"}))
        last = [run.id for run in store.runs(batch_id)][-1:]
        assert store.compact(batch_id, keep=last, entry=RETAINED)
        assert not store.compact(batch_id, keep=(), entry=RETAINED)
        assert [run.id for run in store.runs(batch_id)] == last
        assert store.expire(batch_id, entry=RETAINED)
        assert not store.expire(batch_id, entry=RETAINED)
        assert not store.compact(batch_id, keep=(), entry=RETAINED)
        assert store.batch(batch_id).retention == "expired"
    assert sum(row["action"] == "batches.compact" for row in rows(url, audit_table)) == 2, "of what was done alone"


def test_of_several_retentions_at_once_one_does_it(url: str) -> None:
    summary = recorded({f"s{number:02}": "PFP" for number in range(20)})
    keep = [run.id for run in summary.runs if run.order == 2]
    with opened(url) as store:
        batch_id = added(store, summary)
    done: list[bool] = []

    def compact() -> None:
        with opened(url) as store:
            done.append(store.compact(batch_id, keep=keep, entry=RETAINED))

    threads = [Thread(target=compact) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, True]
    with opened(url) as store:
        assert [run.id for run in store.runs(batch_id)] == keep
    assert sum(row["action"] == "batches.compact" for row in rows(url, audit_table)) == 1


def test_a_run_to_keep_that_the_batch_does_not_have_is_refused_and_nothing_is_changed(url: str) -> None:
    summary = recorded({"a": "PF"})
    with opened(url) as store:
        batch_id = added(store, summary)
        near = summary.runs[0].id[:-1] + ("0" if summary.runs[0].id[-1] != "0" else "1")
        with pytest.raises(UnknownNameError, match=f"unknown run of {batch_id}") as error:
            store.compact(batch_id, keep=[near], entry=RETAINED)
        assert error.value.nearest == summary.runs[0].id
        assert store.batch(batch_id) == summary.batch
        assert tuple(store.runs(batch_id)) == summary.runs
        for ask in (lambda name: store.compact(name, keep=(), entry=RETAINED), lambda name: store.expire(name, entry=RETAINED)):
            with pytest.raises(UnknownNameError, match="unknown batch"):
                ask("b-none")


def test_a_run_that_is_no_longer_kept_is_answered_with_what_became_of_its_batch(url: str) -> None:
    summary = recorded({"a": "PF"})
    with opened(url) as store:
        batch_id = added(store, summary)
        store.compact(batch_id, keep=[summary.runs[1].id], entry=RETAINED)
        assert store.run(batch_id, summary.runs[1].id) == summary.runs[1]
        with pytest.raises(InputError, match=f"{batch_id} is compacted, and no run '{summary.runs[0].id}' is kept of it"):
            store.run(batch_id, summary.runs[0].id)


def test_batches_of_other_projects_and_tenants_are_out_of_reach(url: str) -> None:
    theirs = recorded({"a": "P"}, tenant="t-a")
    with opened(url, tenant="t-a") as store, opened(url, tenant="t-b") as ours, opened(url, project="shop", tenant="t-a") as shop:
        batch_id = added(store, theirs)
        for ask in (lambda one: one.compact(batch_id, keep=(), entry=RETAINED), lambda one: one.expire(batch_id, entry=RETAINED)):
            with pytest.raises(UnknownNameError, match="unknown batch"):
                ask(ours)
            with pytest.raises(InputError, match="is of the project 'probe', and this is 'shop'"):
                ask(shop)
        assert store.batch(batch_id).retention == "whole"


def pinning(summary: BundleSummary, place: int) -> Schedule:
    run = summary.runs[place]
    pin = Pin(scenario_id=run.scenario_id, batch_id=summary.batch.id, run_id=run.id, trajectory_digest=str(run.trajectory_digest))
    moments = {"first_at": NOW, "active_since": NOW, "saved_at": NOW}
    return Schedule(id="nightly", pins=(pin,), endpoint_url="https://agent.test", recipients=("ops@acme.test",), saved_by="ana", **moments)


@contextmanager
def monitoring(url: str) -> Iterator[SqlMonitoringStore]:
    store = open_monitoring_store(url, project="probe", tenant="default")
    try:
        yield store
    finally:
        store.close()


def test_a_run_that_a_schedule_pins_is_not_taken_out_whatever_was_planned_before(url: str) -> None:
    summary = recorded({"a": "PPF"})
    with opened(url) as store, monitoring(url) as schedules:
        batch_id = added(store, summary)
        schedules.save(pinning(summary, 0), replaces=None, entry=PUSHED)
        assert not store.compact(batch_id, keep=[summary.runs[2].id], entry=RETAINED)
        assert not store.expire(batch_id, entry=RETAINED)
        assert (store.batch(batch_id), tuple(store.runs(batch_id))) == (summary.batch, summary.runs)
        assert store.compact(batch_id, keep=[summary.runs[0].id, summary.runs[2].id], entry=RETAINED)
        schedules.remove("nightly", entry=PUSHED)
        assert store.expire(batch_id, entry=RETAINED)


def test_a_run_that_retention_is_just_taking_out_cannot_be_pinned(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = recorded({"a": "PPF"})
    removing, saved = Event(), Event()
    refusals: list[MonitoringError] = []

    def save() -> None:
        removing.wait()
        with monitoring(url) as schedules:
            try:
                schedules.save(pinning(summary, 0), replaces=None, entry=PUSHED)
            except MonitoringError as error:
                refusals.append(error)
        saved.set()

    def remove_slowly(*arguments: Any, **named: Any) -> None:
        removing.set()
        assert not saved.wait(0.3), "the run was pinned, or refused, before it was known whether it stays"
        rows_of_retention.remove_runs(*arguments, **named)

    monkeypatch.setattr("evalplatform.adapters.batches.sql.remove_runs", remove_slowly)
    with opened(url) as store, monitoring(url) as schedules:
        batch_id = added(store, summary)
        saving = Thread(target=save)
        saving.start()
        assert store.compact(batch_id, keep=[summary.runs[2].id], entry=RETAINED)
        saving.join()
        assert [(error.code, error.field) for error in refusals] == [("baseline_not_pinned", "scenarios.a")]
        assert schedules.schedules() == ()


def test_a_pin_that_stays_does_not_keep_its_schedule_from_being_changed_though_its_run_is_gone(url: str) -> None:
    summary = recorded({"a": "PPF"})
    with opened(url) as store, monitoring(url) as schedules:
        gone = pinning(summary, 0)
        schedules.save(gone, replaces=None, entry=PUSHED)  # of a batch that is stored elsewhere: nothing is known of it here
        added(store, summary)
        monitored = gone.with_changes(runs=3)
        schedules.save(monitored, replaces=gone, entry=PUSHED)
        assert schedules.schedule("nightly") == monitored


def test_only_trajectories_that_no_run_of_any_project_and_tenant_names_are_removed(url: str) -> None:
    ours, theirs = recorded({"a": "PF"}), recorded({"a": "P"}, tenant="t-b", project="shop")
    passed, failed = (str(run.trajectory_digest) for run in ours.runs)
    with opened(url) as store, opened(url, project="shop", tenant="t-b") as other:
        batch_id = added(store, ours)
        added(other, theirs)
        assert removed_by(store, [passed, failed, "sha256:none"]) == {"sha256:none"}
        store.expire(batch_id, entry=RETAINED)
        assert removed_by(store, [passed, failed]) == {failed}
        assert removed_by(store, []) == set()


def test_a_removal_that_fails_is_told_and_can_be_repeated(url: str) -> None:
    def failing(digests: Collection[str]) -> None:
        raise StorageError("the store is away.")

    with opened(url) as store:
        with pytest.raises(StorageError, match="the store is away"):
            store.remove_unused(["sha256:1"], failing)
        assert removed_by(store, ["sha256:1"]) == {"sha256:1"}


def test_no_batch_is_added_between_the_look_for_runs_and_the_removal(url: str) -> None:
    summary = recorded({"a": "P"})
    removing, added_meanwhile = Event(), Event()

    def add() -> None:
        removing.wait()
        with opened(url) as other:
            added(other, summary)
        added_meanwhile.set()

    def remove(digests: Collection[str]) -> None:
        removing.set()
        assert not added_meanwhile.wait(0.3), "the batch was added although its trajectory is just being removed"

    with opened(url) as store:
        adding = Thread(target=add)
        adding.start()
        assert store.remove_unused([str(summary.runs[0].trajectory_digest)], remove) == 1
        adding.join()
        assert store.batch(summary.batch.id) == summary.batch


def test_a_killed_compaction_leaves_the_batch_as_it_was(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = recorded({"a": "PPF"})

    def breaking(original: Callable[..., None]) -> Callable[..., None]:
        def broken(*arguments: object, **named: object) -> None:
            original(*arguments, **named)
            raise KeyboardInterrupt

        return broken

    with opened(url) as store:
        batch_id = added(store, summary)
        monkeypatch.setattr("evalplatform.adapters.batches.sql.remove_runs", breaking(rows_of_retention.remove_runs))
        with pytest.raises(KeyboardInterrupt):
            store.compact(batch_id, keep=[summary.runs[2].id], entry=RETAINED)
        assert store.batch(batch_id) == summary.batch
        assert tuple(store.runs(batch_id)) == summary.runs
    assert [row["retention"] for row in rows(url, batches_table)] == ["whole"]
    assert [row["action"] for row in rows(url, audit_table)] == ["batches.push"]
