"""Opens a database: SQLite in write-ahead mode, or Postgres; and turns its failures into ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from sqlite3 import OperationalError as SqliteOperationalError
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from evalplatform.kernel.errors import InputError, StorageError, StorageUnavailableError, UnknownNameError

BUSY_TIMEOUT_SECONDS = 30
CONNECT_TIMEOUT_SECONDS = 10
STATEMENT_TIMEOUT_SECONDS = 60
_REMEDIES = {
    "is full": "Free some space on its disk.",
    "is locked": f"Another process has been writing to it for {BUSY_TIMEOUT_SECONDS} s: end that one.",
    "readonly database": "The file and its folder have to be writable.",
}
_WRITES = "evalplatform_writes"
_FILE_IDENTITY = "evalplatform_file_identity"


def database_engine(url: str) -> Engine:
    """Return an engine for `sqlite:///path` or `postgresql://user@host/name`.

    SQLite: WAL, synchronous=FULL, a busy timeout of 30 seconds; the file's folder is made. Postgres: psycopg 3, connections checked before
    use, 10 seconds to connect, 60 for a statement. Nothing is connected yet.

    Raises:
        InputError: the text is no database URL, has a password that is not percent-encoded, or names a database in memory, which a second
            connection could not see.
        UnknownNameError: another kind of database.
        StorageUnavailableError: the folder of the SQLite file cannot be made.
    """
    parsed = _parsed(url)
    kind = parsed.get_backend_name()
    if kind == "postgres":  # the older spelling, which libpq still reads
        kind = "postgresql"
    openers = {"sqlite": _sqlite_engine, "postgresql": _pooled_postgres_engine}
    if kind not in openers:
        raise UnknownNameError("database", kind, openers, field="database")
    return openers[kind](parsed)


def unpooled_postgres_engine(url: str) -> Engine:
    """Return an engine whose connections close when they are given back, as a session's locks need; otherwise as `database_engine`."""
    return _postgres_engine(_parsed(url), poolclass=NullPool)


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that will write, commit it at the end, roll it back on an exception.

    On SQLite it takes the write lock at its start: a transaction that reads first and writes later is refused at once, without the busy
    timeout, when another process wrote in between.

    Raises:
        StorageUnavailableError: the database does not answer.
        StorageError: it refuses.
    """
    with storage_failures(engine), engine.connect().execution_options(**{_WRITES: True}) as connection, connection.begin():
        yield connection


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads; on SQLite it never waits for a writer. Raises as `write_transaction` does."""
    with storage_failures(engine), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def storage_failures(engine: Engine) -> Iterator[None]:
    """Turn the database's exceptions into StorageUnavailableError (it does not answer) or StorageError (it refuses).

    The message is the driver's own, after the file where it is SQLite: SQLAlchemy's would carry the statement's parameters, and so replies,
    into logs.
    """
    database = f"the database {engine.url.database}" if engine.dialect.name == "sqlite" else "the database"
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        message = _driver_message(error)
        remedy = next((f". {remedy}" for part, remedy in _REMEDIES.items() if part in message), "")
        raise StorageUnavailableError(f"{database} does not answer: {message}{remedy}") from error
    except SQLAlchemyError as error:
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        failure = StorageUnavailableError if lost else StorageError
        raise failure(f"{database} refused: {_driver_message(error)}") from error


def _parsed(url: str) -> URL:
    """Return the parts of a database URL; InputError where it is none, or where a part of the password would be taken for the host."""
    if url.startswith("postgres") and url.count("@") > 1:
        raise InputError(
            "the URL has more than one @, so that a part of the password would be taken for the host: percent-encode the password, "
            "an @ as %40.",
            field="database",
        )
    try:
        return make_url(url)
    except ValueError:  # a port that is no number
        raise InputError("the port in the URL is no number; in a password, write : as %3A and / as %2F.", field="database") from None
    except ArgumentError:
        raise InputError("is no database URL: write sqlite:///path/to/file.db or postgresql://user@host/name.", field="database") from None


def _driver_message(error: SQLAlchemyError) -> str:
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _sqlite_engine(url: URL) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise InputError("a database in memory cannot hold finished calls: name a file, as in sqlite:///calls.db.", field="database")
    file = Path(str(url.database)).expanduser()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailableError(f"the folder {file.parent} of the database cannot be made: {error.strerror or error}.") from error
    plain = url.set(drivername="sqlite+pysqlite", database=str(file))
    engine = create_engine(plain, connect_args={"timeout": BUSY_TIMEOUT_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite_connection)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "commit", _check_file_is_there)
    return engine


def _prepare_sqlite_connection(connection: SqliteConnection, record: ConnectionPoolEntry) -> None:
    # The driver's own transaction handling begins late and never IMMEDIATE; with None it leaves BEGIN to us.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}")
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous=FULL")
    (file,) = (row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main")
    status = Path(file).stat()
    record.info[_FILE_IDENTITY] = (status.st_dev, status.st_ino)


def _switch_to_wal(connection: SqliteConnection) -> None:
    """Put the file into write-ahead mode, once. SQLite does not apply its busy timeout to this switch, so we wait ourselves."""
    give_up_at = monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                return
            connection.execute("PRAGMA journal_mode=WAL")
        except SqliteOperationalError as error:
            if "locked" not in str(error) or monotonic() > give_up_at:
                raise
        if monotonic() > give_up_at:
            raise SqliteOperationalError("cannot switch to write-ahead mode: the file system does not support it")
        sleep(0.02)


def _check_file_is_there(connection: Connection) -> None:
    """Refuse to commit into a file that has lost its name: SQLite writes on into it, and all of that is gone when the process ends."""
    if not connection.get_execution_options().get(_WRITES, False):
        return
    file = Path(str(connection.engine.url.database))
    try:
        status = file.stat()
    except OSError:
        status = None
    if status is None or (status.st_dev, status.st_ino) != connection.info[_FILE_IDENTITY]:
        raise StorageError(
            f"the database {file} was removed or replaced while it was in use; nothing more is recorded. Put it back from a backup, or run "
            "again to begin a new one: calls that it held are then asked again."
        )


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _pooled_postgres_engine(url: URL) -> Engine:
    return _postgres_engine(url, pool_pre_ping=True, pool_size=2, max_overflow=4)


def _postgres_engine(url: URL, **pool: Any) -> Engine:
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        **pool,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS, "tcp_user_timeout": STATEMENT_TIMEOUT_SECONDS * 1000},
    )
    event.listen(engine, "connect", _prepare_postgres_connection)
    return engine


def _prepare_postgres_connection(connection: Any, record: object) -> None:
    # As a statement, not a start-up option: connection poolers refuse those.
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{STATEMENT_TIMEOUT_SECONDS}s'")
    connection.commit()
