"""Brings a database to the schema this version of the code expects, safely when several processes start at once."""

from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, Engine, column, inspect, select, table, text

from evalplatform.adapters.tables.engine import database_engine, read_transaction, write_transaction
from evalplatform.kernel.errors import StorageError

HEAD_REVISION = "0005"
MIGRATIONS_FOLDER = Path(__file__).parent / "migrations"
# Dagster keeps its own `alembic_version`; a deployment may give both the same database.
VERSION_TABLE = "evalplatform_version"
_ADVISORY_LOCK = 0x65_76_61_6C_70_6C_61_74  # "evalplat"
_alembic_lock = Lock()  # alembic's environment is one per process


def ensure_schema(engine: Engine) -> None:
    """Migrate the database to the newest schema; a database that has it costs one read, and alembic is not even imported.

    All migrations run in one transaction under a lock (an advisory lock on Postgres, the write lock on SQLite), so a process that is killed
    leaves the old schema and one that comes second finds the work done.

    Raises:
        StorageError: the database was made by a newer version of evalplatform, or refuses.
        StorageUnavailableError: it does not answer.
    """
    with read_transaction(engine) as connection:
        if stored_revision(connection) == HEAD_REVISION:
            return
    with write_transaction(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
        if stored_revision(connection) != HEAD_REVISION:
            migrate(connection, "head")


def stored_revision(connection: Connection) -> str | None:
    """Return the schema revision the database has, or None where it has none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(select(column("version_num")).select_from(table(VERSION_TABLE))).scalar_one_or_none()


def migrate(connection: Connection, revision: str) -> None:
    """Upgrade to `revision` (or `head`) inside the connection's transaction.

    Raises:
        StorageError: the database has a revision this version of evalplatform does not know.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    with _alembic_lock:
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise StorageError(
                f"the database has schema revision {stored_revision(connection)!r}, which this version of evalplatform does not know "
                f"(it knows up to {HEAD_REVISION!r}): it was made by a newer version. {error}"
            ) from error


def migrated_engine(url: str) -> Engine:
    """Return an engine of the database at `url`, which is migrated to the newest schema first.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    engine = database_engine(url)
    try:
        ensure_schema(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine
