"""Opens a batch store by its database URL."""

from pathlib import Path

from sqlalchemy import inspect

from evalplatform.adapters.batches.sql import SqlBatchStore, batches_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction
from evalplatform.adapters.tables.schema import migrated_engine

SQLITE_PREFIX = "sqlite:///"


def open_batch_store(url: str, *, project: str, tenant: str) -> SqlBatchStore:
    """Return the project's batches in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id. Batches of other projects in the same database are not listed, and refused by name when asked for.
        tenant: whose project it is. Batches of other tenants in the same database are as if they were not there.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlBatchStore(migrated_engine(url), project=project, tenant=tenant)


def holds_batches(url: str, *, project: str, tenant: str) -> bool:
    """Return whether the database at `url` holds a batch of the tenant's project. Nothing is made or migrated for the answer.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
    """
    if url.startswith(SQLITE_PREFIX) and not Path(url.removeprefix(SQLITE_PREFIX)).is_file():
        return False
    engine = database_engine(url)
    try:
        with read_transaction(engine) as connection:
            if not inspect(connection).has_table(batches_table.name):
                return False
        return bool(SqlBatchStore(engine, project=project, tenant=tenant).ids())
    finally:
        engine.dispose()
