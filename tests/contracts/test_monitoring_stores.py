"""What every monitoring store promises, over every one there is: schedules, nights and alerts, as they are written and read."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta, timezone

import pytest
from sqlalchemy import inspect

from evalplatform.adapters.batches.sql import SqlBatchStore
from evalplatform.adapters.gates.sql import SqlGateStore
from evalplatform.adapters.monitoring import sql
from evalplatform.adapters.monitoring.open import open_monitoring_store
from evalplatform.adapters.monitoring.sql import SqlMonitoringStore, audit_table, nights_table, schedules_table
from evalplatform.adapters.tables.engine import database_engine, write_transaction
from evalplatform.adapters.tables.schema import migrate
from evalplatform.kernel.errors import CredentialUnreadableError, InputError, MonitoringError
from evalplatform.ports.monitoring import ProjectSchedule
from evalplatform.runs.night import Alert, Delivery, Night
from evalplatform.runs.remembered_gate import GateReport, RememberedGate
from tests.support.monitoring_values import ENTRY, FIRST, FULL_NIGHT, FULL_SCHEDULE, OPEN_ALERT, ended, header, night, schedule
from tests.support.recorded_batches import recorded
from tests.support.stored_rows import rows

STRANGE_NAMES = ("", "no\x00ne", "n\udcff", "中")


@contextmanager
def opened(url: str, project: str = "probe", tenant: str = "default") -> Iterator[SqlMonitoringStore]:
    store = open_monitoring_store(url, project=project, tenant=tenant)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def store(url: str) -> Iterator[SqlMonitoringStore]:
    with opened(url) as store:
        yield store


def test_a_schedule_comes_back_as_it_was_after_reopening(url: str) -> None:
    with opened(url) as store:
        store.save(FULL_SCHEDULE, replaces=None, entry=ENTRY)
        store.save(schedule("a"), replaces=None, entry=ENTRY)
    with opened(url) as store:
        assert store.schedule(FULL_SCHEDULE.id) == FULL_SCHEDULE
        assert store.schedules() == (schedule("a"), FULL_SCHEDULE)
        assert [store.schedule(name) for name in ("other", *STRANGE_NAMES)] == [None] * 5


def test_a_sealed_header_value_stands_in_its_own_column_and_nowhere_else(url: str, store: SqlMonitoringStore) -> None:
    store.save(FULL_SCHEDULE, replaces=None, entry=ENTRY)
    store.save(schedule("plain"), replaces=None, entry=ENTRY)
    found = rows(url, schedules_table)
    sealed = {row["schedule_id"]: row.pop("header_token") for row in found}
    assert sealed == {FULL_SCHEDULE.id: "gAAAA-sealed", "plain": None}
    everything = json.dumps([*found, *rows(url, audit_table)], default=str)
    assert "gAAAA" not in everything
    assert "9876" in everything


def test_schedules_are_replaced_and_removed_each_with_its_audit_entry(url: str, store: SqlMonitoringStore) -> None:
    first, second = schedule(), schedule(runs=3, auth=header("t"))
    store.save(first, replaces=None, entry=ENTRY)
    store.save(second, replaces=first, entry=ENTRY)
    assert store.schedules() == (second,)
    assert store.remove("nightly", entry=ENTRY.with_changes(action="schedules.remove"))
    assert store.schedules() == ()
    assert [(row["project"], row["action"]) for row in rows(url, audit_table)] == [
        ("probe", "schedules.save"),
        ("probe", "schedules.save"),
        ("probe", "schedules.remove"),
    ]
    assert [store.remove(name, entry=ENTRY) for name in ("nightly", *STRANGE_NAMES)] == [False] * 5
    assert len(rows(url, audit_table)) == 3, "nothing was removed, so nothing is said of it"
    store.save(first, replaces=None, entry=ENTRY)
    assert store.schedules() == (first,)


@pytest.mark.parametrize("replaces", [None, schedule(runs=2), schedule(auth=header("another"))])
def test_a_schedule_that_somebody_changed_meanwhile_is_not_overwritten(url: str, store: SqlMonitoringStore, replaces: object) -> None:
    store.save(schedule(), replaces=None, entry=ENTRY)
    with pytest.raises(InputError, match="changed by somebody else meanwhile"):
        store.save(schedule(runs=4), replaces=replaces, entry=ENTRY)  # type: ignore[arg-type]
    assert store.schedules() == (schedule(),)
    assert len(rows(url, audit_table)) == 1


def test_a_schedule_that_somebody_removed_meanwhile_does_not_come_back(url: str, store: SqlMonitoringStore) -> None:
    with pytest.raises(InputError, match="changed by somebody else meanwhile"):
        store.save(schedule(runs=4), replaces=schedule(), entry=ENTRY)
    assert (rows(url, schedules_table), rows(url, audit_table)) == ([], [])


def test_a_schedule_that_does_not_fit_beside_the_tenants_others_is_not_stored(url: str, store: SqlMonitoringStore) -> None:
    seen: list[Sequence[ProjectSchedule]] = []

    def refuses(found: Sequence[ProjectSchedule]) -> None:
        seen.append(found)
        raise MonitoringError("allowance_exceeded", "it does not fit.", field="scenarios")

    with opened(url, project="alpha") as alpha, opened(url, tenant="acme") as foreign:
        alpha.save(schedule("a"), replaces=None, entry=ENTRY, check=seen.append)
        foreign.save(schedule("f"), replaces=None, entry=ENTRY, check=seen.append)
        with pytest.raises(MonitoringError, match="it does not fit"):
            store.save(schedule("b"), replaces=None, entry=ENTRY, check=refuses)
        with pytest.raises(MonitoringError, match="it does not fit"):
            alpha.save(schedule("a", runs=4), replaces=schedule("a"), entry=ENTRY, check=refuses)
        as_it_was = [("alpha", schedule("a"))]
        assert [[tuple(one) for one in found] for found in seen] == [[], [], as_it_was, as_it_was]
        assert [tuple(one) for one in store.tenant_schedules()] == as_it_was
    assert len(rows(url, audit_table)) == 2


def test_the_schedules_of_all_of_a_tenants_projects_are_found_and_no_other_tenants(url: str, store: SqlMonitoringStore) -> None:
    paused = schedule("b", is_on=False)
    with opened(url, project="alpha") as alpha, opened(url, tenant="acme") as foreign:
        for each, saved in ((store, schedule("b")), (store, schedule("a")), (alpha, paused), (foreign, schedule("b", runs=3))):
            each.save(saved, replaces=None, entry=ENTRY)
        of_tenant = [("alpha", paused), ("probe", schedule("a")), ("probe", schedule("b"))]
        assert [tuple(found) for found in store.tenant_schedules()] == of_tenant
        assert alpha.tenant_schedules() == store.tenant_schedules()
        assert [tuple(found) for found in foreign.tenant_schedules()] == [("probe", schedule("b", runs=3))]


def test_what_another_project_or_tenant_has_under_the_same_names_is_as_if_it_were_not_there(url: str, store: SqlMonitoringStore) -> None:
    theirs = ended(night(), state="checked_flagged", alert=OPEN_ALERT)
    store.save(schedule(), replaces=None, entry=ENTRY)
    store.record(theirs)
    store.begin(night(hours=1))
    with opened(url, project="other") as other, opened(url, tenant="acme") as foreign:
        for each in (other, foreign):
            assert each.schedule("nightly") is None
            assert each.night(theirs.key) is None
            assert [each.schedules(), tuple(each.nights()), each.pending(), each.open_alerts()] == [()] * 4
            assert not each.remove("nightly", entry=ENTRY)
            assert not each.finish(ended(night(hours=1)))
            assert not each.replace_alert(theirs.key, old=OPEN_ALERT, new=Alert(kind="recovered"))
            assert each.record(ended(night())) == ended(night())
            assert each.begin(night(hours=1)).is_ours
    assert store.night(theirs.key) == theirs
    assert len(rows(url, nights_table)) == 6


def test_a_night_comes_back_as_it_was_after_reopening(url: str, awkward_texts: list[str]) -> None:
    texts = [
        ended(night(hours=hours), state="check_failed", reason="missed_slot", detail=text) for hours, text in enumerate(awkward_texts, 1)
    ]
    with opened(url) as store:
        for each in (FULL_NIGHT, *texts):
            assert store.record(each) == each
    with opened(url) as store:
        for each in (FULL_NIGHT, *texts):
            assert store.night(each.key) == each
        assert set(store.nights()) == {FULL_NIGHT, *texts}
        assert [store.night(key) for key in ("other", *STRANGE_NAMES)] == [None] * 5


def test_a_removed_schedule_leaves_its_nights(store: SqlMonitoringStore) -> None:
    store.save(schedule(), replaces=None, entry=ENTRY)
    store.begin(night())
    store.remove("nightly", entry=ENTRY)
    assert store.pending() == (night(),)
    assert store.finish(ended(night()))
    assert list(store.nights()) == [ended(night())]


def test_nights_come_newest_slot_first_page_by_page_by_source_stream_and_time(
    store: SqlMonitoringStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "PAGE_NIGHTS", 2)
    streams = {"sentinel": "sentinel", "a": "monitor", "a-b": "monitor", "b": "monitor"}
    added = [ended(night(stream, hours=hours, source=source)) for hours in (3, 0, 5, 4) for stream, source in streams.items()]
    for each in added:
        store.record(each)
    newest_first = sorted(added, key=lambda one: (one.slot.at, one.key), reverse=True)
    since, before = FIRST + timedelta(hours=3), (FIRST + timedelta(hours=5)).astimezone(timezone(timedelta(hours=9)))

    def picked(wanted: Callable[[Night], bool]) -> list[Night]:
        return [each for each in newest_first if wanted(each)]

    assert list(store.nights()) == newest_first
    assert list(store.nights(limit=5)) == newest_first[:5]
    assert list(store.nights(limit=0)) == []
    assert list(store.nights(source="sentinel")) == picked(lambda one: one.source == "sentinel")
    assert list(store.nights(stream="a", limit=9)) == picked(lambda one: one.stream == "a")
    assert list(store.nights(since=since, before=before)) == picked(lambda one: since <= one.slot.at < before)
    in_all = store.nights(source="monitor", stream="a-b", since=since, before=before, limit=1)
    assert list(in_all) == picked(lambda one: one.stream == "a-b" and one.slot.at < before)[:1]
    assert [list(store.nights(stream=name)) for name in STRANGE_NAMES] == [[]] * 4


def test_pending_nights_and_open_alerts_come_oldest_slot_first(store: SqlMonitoringStore) -> None:
    closed = Alert(kind="recovered", deliveries=(Delivery(channel="email", address="ana@example.com", state="failed", attempts=4),))
    alerted = {hours: ended(night(hours=hours), alert=OPEN_ALERT) for hours in (6, 2)}
    for each in (*alerted.values(), ended(night(hours=3), alert=closed), ended(night(hours=4), alert=Alert(kind="recovered"))):
        store.record(each)
    for hours in (9, 7, 8):
        store.begin(night(hours=hours))
    store.finish(ended(night(hours=7)))
    assert store.pending() == (night(hours=8), night(hours=9))
    assert store.open_alerts() == (alerted[2], alerted[6])


def test_an_alert_is_replaced_only_where_it_is_still_what_was_read(store: SqlMonitoringStore) -> None:
    told = ended(night(), alert=OPEN_ALERT)
    sent = OPEN_ALERT.with_changes(deliveries=OPEN_ALERT.deliveries[:1])
    store.record(told)
    store.record(ended(night(hours=1)))
    assert store.replace_alert(told.key, old=OPEN_ALERT, new=sent)
    assert store.night(told.key) == told.with_changes(alert=sent)
    assert store.open_alerts() == ()
    assert not store.replace_alert(told.key, old=OPEN_ALERT, new=Alert(kind="monitor_failed"))
    assert not store.replace_alert(night(hours=1).key, old=OPEN_ALERT, new=sent), "it has none"
    assert not store.replace_alert(night(hours=2).key, old=OPEN_ALERT, new=sent), "there is no such night"
    assert store.night(told.key) == told.with_changes(alert=sent)


def test_header_values_of_all_projects_and_tenants_are_sealed_anew_in_one_go(url: str, store: SqlMonitoringStore) -> None:
    with opened(url, project="other") as other, opened(url, tenant="acme") as foreign:
        stores = (store, other, foreign)
        for number, each in enumerate(stores):
            each.save(schedule(auth=header(f"old {number}")), replaces=None, entry=ENTRY)
        store.save(schedule("plain"), replaces=None, entry=ENTRY)
        before = rows(url, schedules_table)

        def lacks_a_key(token: str) -> str:
            if token == "old 2":
                raise CredentialUnreadableError("no key opens it")
            return f"new {token}"

        rotated = ENTRY.with_changes(action="secrets.rotated")
        with pytest.raises(CredentialUnreadableError, match="no key opens it"):
            foreign.reseal_headers(lacks_a_key, entry=rotated)
        assert sorted(rows(url, schedules_table), key=str) == sorted(before, key=str)
        assert "secrets.rotated" not in {row["action"] for row in rows(url, audit_table)}

        assert foreign.reseal_headers(lambda token: token.replace("old", "new"), entry=rotated) == 3
        assert [each.schedule("nightly") for each in stores] == [schedule(auth=header(f"new {number}")) for number in range(3)]
        assert store.schedule("plain") == schedule("plain")
        assert [row["action"] for row in rows(url, audit_table)].count("secrets.rotated") == 1


def test_a_nul_is_refused_by_its_field_before_the_database_meets_it(url: str, store: SqlMonitoringStore) -> None:
    bad = ended(night(), replay_batch="b")
    nul = bad.model_copy(update={"replay_batch": "b\x00"})
    with pytest.raises(InputError, match=r"endpoint_url: holds a NUL character"):
        store.save(schedule(endpoint_url="https://a.example/\x00"), replaces=None, entry=ENTRY)
    with pytest.raises(InputError, match=r"replay_batch: holds a NUL character"):
        store.record(nul)
    store.begin(night())
    with pytest.raises(InputError, match=r"replay_batch: holds a NUL character"):
        store.finish(nul)
    assert store.pending() == (night(),)
    assert (rows(url, schedules_table), rows(url, audit_table)) == ([], [])


def test_a_database_from_before_monitoring_is_upgraded_with_what_it_holds(url: str) -> None:
    batch = recorded({"refund": "PF"})
    gate = RememberedGate(report=GateReport(key="k", baseline="b-1", candidate="b-2"), standing="clean", received_at=FIRST)
    engine = database_engine(url)
    with write_transaction(engine) as connection:
        migrate(connection, "0003")
        assert not inspect(connection).has_table("nights")
    SqlBatchStore(engine, project="probe", tenant="default").add(batch.batch, batch.runs, entry=ENTRY)
    SqlGateStore(engine, project="probe", tenant="default").remember(gate, (), entry=ENTRY)
    engine.dispose()
    with opened(url) as store:
        assert (list(store.nights()), store.schedules()) == ([], ())
        store.save(FULL_SCHEDULE, replaces=None, entry=ENTRY)
        assert store.record(FULL_NIGHT) == FULL_NIGHT
    engine = database_engine(url)
    batches, gates = SqlBatchStore(engine, project="probe", tenant="default"), SqlGateStore(engine, project="probe", tenant="default")
    assert list(batches.runs(batch.batch.id)) == list(batch.runs)
    assert list(gates.gates()) == [gate]
    engine.dispose()
    assert len(rows(url, audit_table)) == 3
