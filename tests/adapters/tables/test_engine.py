from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from evalplatform.adapters.tables.engine import database_engine, read_transaction, unpooled_postgres_engine, write_transaction
from evalplatform.kernel.errors import InputError, StorageError, StorageUnavailableError, UnknownNameError


def test_sqlite_writes_ahead_and_flushes_every_commit(tmp_path: Path) -> None:
    engine = database_engine(f"sqlite:///{tmp_path}/new/folder/calls.db")
    with read_transaction(engine) as connection:
        settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous", "busy_timeout")]
    engine.dispose()
    assert settings == ["wal", 2, 30_000]


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    engine = database_engine(f"sqlite:///{tmp_path}/calls.db")
    with pytest.raises(StorageUnavailableError, match="no such table"), write_transaction(engine) as connection:
        connection.execute(text("CREATE TABLE kept (x INTEGER)"))
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))
    with read_transaction(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar() == 0
    engine.dispose()


def test_a_database_of_another_kind_is_answered_with_the_kinds_there_are() -> None:
    with pytest.raises(UnknownNameError, match=r"known: postgresql, sqlite.*Did you mean 'postgresql'"):
        database_engine("postgre://user@host/name")
    with pytest.raises(UnknownNameError, match="known: postgresql, sqlite"):
        database_engine("mysql://user@host/name")


@pytest.mark.parametrize("url", ["calls.db", "", "sqlite://", "sqlite:///:memory:"])
def test_a_text_that_names_no_lasting_database_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="database"):
        database_engine(url)


def test_a_database_that_does_not_answer_is_unavailable_and_its_password_stays_out_of_the_message() -> None:
    engine = database_engine("postgresql://user:hunter2@127.0.0.1:1/name")
    with pytest.raises(StorageUnavailableError) as failure, read_transaction(engine):
        pass
    assert "hunter2" not in str(failure.value)
    engine.dispose()


@pytest.mark.parametrize("password", ["SEC@RET", "SEC@RE:T", "SEC@RE/T"])
@pytest.mark.parametrize("open_", [database_engine, unpooled_postgres_engine])
def test_a_password_that_would_be_read_as_the_host_is_refused_and_not_repeated(open_: Callable[[str], object], password: str) -> None:
    with pytest.raises(InputError, match=r"percent-encode the password.*%40") as refusal:
        open_(f"postgresql://user:{password}@127.0.0.1:1/name")
    assert "SEC" not in str(refusal.value)
    assert "RE" not in str(refusal.value)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailableError, match=r"folder .*/file/state of the database cannot be made"):
        database_engine(f"sqlite:///{tmp_path}/file/state/calls.db")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "calls.db").write_bytes(b"not a database, just some text that is long enough to be looked at" * 20)
    engine = database_engine(f"sqlite:///{tmp_path}/calls.db")
    with pytest.raises(StorageError, match=r"calls\.db refused: file is not a database"), read_transaction(engine):
        pass
    engine.dispose()


def test_nothing_is_committed_into_a_file_that_was_removed_or_replaced(tmp_path: Path) -> None:
    file = tmp_path / "calls.db"
    engine = database_engine(f"sqlite:///{file}")
    with write_transaction(engine) as connection:
        connection.execute(text("CREATE TABLE kept (x INTEGER)"))
    for replace in (file.unlink, lambda: file.write_bytes(b"")):
        replace()
        with pytest.raises(StorageError, match=r"calls\.db was removed or replaced"), write_transaction(engine) as connection:
            connection.execute(text("INSERT INTO kept VALUES (1)"))
    with read_transaction(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM kept")).scalar() == 0
    engine.dispose()


def test_a_database_that_another_process_keeps_locked_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalplatform.adapters.tables.engine.BUSY_TIMEOUT_SECONDS", 0.2)
    holding, waiting = (database_engine(f"sqlite:///{tmp_path}/calls.db") for _ in range(2))
    with (
        write_transaction(holding),
        pytest.raises(StorageUnavailableError, match=r"calls\.db does not answer: database is locked\. Another process .*: end that one"),
        write_transaction(waiting),
    ):
        pass
    holding.dispose()
    waiting.dispose()
