"""What every label store promises, over every one there is."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from threading import Thread

import pytest
from sqlalchemy import select, text

from evalplatform.adapters.labels.open import open_label_store
from evalplatform.adapters.labels.sql import LOOKUP_CHUNK, SqlLabelStore, audit_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction, write_transaction
from evalplatform.adapters.tables.schema import migrate
from evalplatform.kernel.errors import InputError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.labels import AddedLabels, Label

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ENTRY = AuditEntry(actor="ana", action="labels.import", subject="labels.csv", new_value={"labels": 2}, happened_at=NOON)


@contextmanager
def opened(url: str, project: str = "demo") -> Iterator[SqlLabelStore]:
    store = open_label_store(url, project=project)
    try:
        yield store
    finally:
        store.close()


def audit_of(url: str) -> list[tuple[str, str, object]]:
    engine = database_engine(url)
    with read_transaction(engine) as connection:
        rows = connection.execute(select(audit_table.c.project, audit_table.c.actor, audit_table.c.new_value)).all()
    engine.dispose()
    return [(row[0], row[1], row[2]) for row in rows]


def a_label(subject: str = "sha256:1", *, labeller: str = "ana", points: float = 70.0, at: datetime = NOON) -> Label:
    return Label(subject_kind="answer", subject=subject, labeller=labeller, scale="points", value=points, labelled_at=at)


VERDICT = Label(subject_kind="answer", subject="sha256:1", labeller="ana", scale="verdict", value="passed", labelled_at=NOON)


def test_labels_are_found_by_their_subjects_after_reopening_oldest_first(url: str) -> None:
    labels = [a_label(at=NOON + timedelta(hours=1)), a_label(labeller="ben"), VERDICT, a_label("sha256:2")]
    with opened(url) as store:
        assert store.add(labels, entry=ENTRY) == AddedLabels(added=4, already_there=0)
    with opened(url) as store:
        found = store.find("answer", ["sha256:1", "sha256:3"])
        assert set(found) == set(labels[:3])
        assert [label.labelled_at for label in found] == [NOON, NOON, NOON + timedelta(hours=1)]
        assert store.find("answer", []) == []
        assert store.find("run", ["sha256:1"]) == []
        assert set(store.labels()) == set(labels)


def test_the_same_label_twice_is_one_row_in_whatever_time_zone_it_is_written(url: str) -> None:
    elsewhere = a_label(at=NOON.astimezone(timezone(timedelta(hours=5))))
    with opened(url) as store:
        assert store.add([a_label(), a_label()], entry=ENTRY) == AddedLabels(added=1, already_there=1)
        assert store.add([elsewhere, VERDICT], entry=ENTRY) == AddedLabels(added=1, already_there=1)
        assert len(list(store.labels())) == 2


def test_another_value_for_the_same_moment_is_refused_and_nothing_of_the_import_is_kept(url: str) -> None:
    with opened(url) as store:
        store.add([a_label()], entry=ENTRY)
        with pytest.raises(InputError, match=r"'ana' labelled sha256:1 as 70\.0 .* already, so 60\.0 needs a later labelled_at"):
            store.add([a_label("sha256:0"), a_label(points=60.0)], entry=ENTRY)
        assert list(store.labels()) == [a_label()]
    assert len(audit_of(url)) == 1


def test_a_changed_mind_is_a_label_more(url: str) -> None:
    with opened(url) as store:
        store.add([a_label()], entry=ENTRY)
        store.add([a_label(points=20.0, at=NOON + timedelta(days=1))], entry=ENTRY)
        assert [label.value for label in store.find("answer", ["sha256:1"])] == [70.0, 20.0]


def test_every_import_leaves_an_audit_entry_also_one_that_adds_nothing(url: str) -> None:
    with opened(url) as store:
        store.add([a_label()], entry=ENTRY)
        store.add([a_label()], entry=ENTRY)
        store.add([], entry=ENTRY)
    assert audit_of(url) == [("demo", "ana", {"labels": 2})] * 3


def test_projects_in_one_database_do_not_see_each_others_labels(url: str) -> None:
    with opened(url) as store, opened(url, project="other") as other:
        store.add([a_label()], entry=ENTRY)
        assert list(other.labels()) == other.find("answer", ["sha256:1"]) == []
        assert other.add([a_label(points=10.0)], entry=ENTRY).added == 1


def test_more_labels_than_a_statement_holds_go_in_and_come_out(url: str) -> None:
    labels = [a_label(f"sha256:{number}", points=number % 101) for number in range(LOOKUP_CHUNK + 10)]
    with opened(url) as store:
        assert store.add(labels, entry=ENTRY).added == len(labels)
        assert store.add(labels, entry=ENTRY).already_there == len(labels)
        assert set(store.find("answer", (label.subject for label in labels))) == set(store.labels()) == set(labels)


def test_writers_that_import_the_same_labels_at_once_keep_each_label_once(url: str) -> None:
    labels = [a_label(f"sha256:{number}") for number in range(200)]
    added: list[int] = []

    def run(order: int) -> None:
        with opened(url) as store:
            added.append(store.add(labels[::order], entry=ENTRY).added)

    threads = [Thread(target=run, args=(order,)) for order in (1, -1, 1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(added) == [0, 0, 0, 200]


def test_labels_of_the_first_schema_are_read_after_the_migration(url: str) -> None:
    engine = database_engine(url)
    with write_transaction(engine) as connection:
        migrate(connection, "0001")
        connection.execute(
            text(
                "INSERT INTO labels (project, subject_kind, subject, labeller, scale, value, labelled_at) "
                "VALUES ('demo', 'answer', 'sha256:1', 'ana', 'points', '70.0', '2026-01-02 12:00:00')"
            )
        )
    engine.dispose()
    with opened(url) as store:
        (found,) = store.labels()
    assert (found.value, found.labeller) == (70.0, "ana")
