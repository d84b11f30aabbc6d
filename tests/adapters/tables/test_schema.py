import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, column, select, table, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from evalplatform.adapters.tables.audit import AuditRow
from evalplatform.adapters.tables.calls import calls
from evalplatform.adapters.tables.engine import database_engine, read_transaction, write_transaction
from evalplatform.adapters.tables.labels import LabelRow
from evalplatform.adapters.tables.models import metadata
from evalplatform.adapters.tables.rows import from_row, to_row
from evalplatform.adapters.tables.schema import HEAD_REVISION, MIGRATIONS_FOLDER, VERSION_TABLE, ensure_schema, migrate, stored_revision
from evalplatform.kernel.errors import StorageError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.labels import Label
from evalplatform.ports.ledger import CallKey, LedgerRow

EVERY_REVISION = [script.revision for script in ScriptDirectory(str(MIGRATIONS_FOLDER)).walk_revisions()][::-1]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/calls.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = database_engine(url)
    yield engine
    engine.dispose()


def test_the_newest_migration_is_the_one_that_the_code_expects() -> None:
    assert EVERY_REVISION[-1] == HEAD_REVISION == ScriptDirectory(str(MIGRATIONS_FOLDER)).get_current_head()


def test_every_migration_in_turn_leads_to_the_tables_the_code_declares(engine: Engine) -> None:
    for revision in EVERY_REVISION:
        with write_transaction(engine) as connection:
            migrate(connection, revision)
            assert stored_revision(connection) == revision
    with read_transaction(engine) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []


def test_a_database_that_a_newer_version_made_is_left_alone(engine: Engine) -> None:
    ensure_schema(engine)
    with write_transaction(engine) as connection:
        connection.execute(update(table(VERSION_TABLE, column("version_num"))).values(version_num="9999"))
    with pytest.raises(StorageError, match=r"9999.*newer version"):
        ensure_schema(engine)


def test_a_database_at_the_newest_schema_opens_without_alembic_or_sqlmodel(engine: Engine, url: str) -> None:
    ensure_schema(engine)
    script = (
        "import sys; from evalplatform.adapters.ledger.open import open_ledger; "
        f"open_ledger({url!r}, project='p'); sys.exit('alembic' in sys.modules or 'sqlmodel' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_four_processes_that_open_a_new_database_at_once_all_succeed(url: str) -> None:
    script = f"from evalplatform.adapters.ledger.open import open_ledger; open_ledger({url!r}, project='p')"
    processes = [subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [(b"", 0)] * 4


def test_every_field_of_a_call_has_its_column() -> None:
    fields = (set(LedgerRow.model_fields) - {"key"}) | set(CallKey.model_fields)
    assert fields <= set(calls.c.keys())


NOON = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=5)))
LABEL = Label(subject_kind="answer", subject="sha256:1", labeller="ana", scale="points", value=72.5, labelled_at=NOON)


@pytest.mark.parametrize(("scale", "value"), [("points", 72.5), ("points", 0.1 + 0.2), ("verdict", "passed")])
def test_a_label_comes_back_as_it_was(engine: Engine, scale: str, value: float | str) -> None:
    label = LABEL.with_changes(scale=scale, value=value, labeller="Ana 👩‍👩‍👧‍👦 Ünal")
    ensure_schema(engine)
    with Session(engine) as session:
        session.add(to_row(LabelRow, label, project="demo"))
        session.commit()
    with Session(engine) as session:
        found = from_row(Label, session.exec(select(LabelRow)).scalar_one())  # type: ignore[call-overload]
    assert found == label
    assert found.labelled_at.tzinfo is UTC


def test_the_same_label_is_not_stored_twice(engine: Engine) -> None:
    ensure_schema(engine)
    with Session(engine) as session:
        session.add_all([to_row(LabelRow, LABEL, project="demo"), to_row(LabelRow, LABEL, project="another")])
        session.commit()
        session.add(to_row(LabelRow, LABEL, project="demo"))
        with pytest.raises(IntegrityError):
            session.commit()


@pytest.mark.parametrize(("old", "new"), [(None, {"max_drop": 0.1}), ({"a": [1, None, "a\x00b"]}, None), ("x", True)])
def test_an_audit_entry_comes_back_as_it_was(engine: Engine, old: object, new: object) -> None:
    entry = AuditEntry.model_validate(
        {"actor": "ana", "action": "set", "subject": "gate_policy", "old_value": old, "new_value": new, "happened_at": NOON}
    )
    ensure_schema(engine)
    with Session(engine) as session:
        session.add(to_row(AuditRow, entry, project="demo"))
        session.commit()
    with Session(engine) as session:
        row = session.exec(select(AuditRow)).scalar_one()  # type: ignore[call-overload]
        assert from_row(AuditEntry, row) == entry


def test_a_name_with_a_control_character_is_refused_before_any_database() -> None:
    with pytest.raises(ValueError, match="labeller"):
        LABEL.with_changes(labeller="a\x00b")
