"""Opens a gate store by its database URL."""

from pathlib import Path

from sqlalchemy import inspect

from evalplatform.adapters.gates.sql import SqlGateStore, policies_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction
from evalplatform.adapters.tables.schema import migrated_engine
from evalplatform.runs.gate_policy import HeldPolicy

SQLITE_PREFIX = "sqlite:///"


def open_gate_store(url: str, *, project: str, tenant: str) -> SqlGateStore:
    """Return the project's gates in the database at `url`, which is migrated to the newest schema first.

    Args:
        url: `sqlite:///path/to/file.db` or `postgresql://user@host/name`.
        project: the project's id.
        tenant: whose project it is. Gates of other projects and tenants in the same database are as if they were not there.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
        StorageError: the database was made by a newer version of evalplatform.
    """
    return SqlGateStore(migrated_engine(url), project=project, tenant=tenant)


def held_policy(url: str, *, project: str, tenant: str) -> HeldPolicy | None:
    """Return the gate policy that the database at `url` holds for the project, or None. Nothing is made or migrated for the answer.

    Raises:
        InputError: the URL cannot be used.
        StorageUnavailableError: the database does not answer.
    """
    if url.startswith(SQLITE_PREFIX) and not Path(url.removeprefix(SQLITE_PREFIX)).is_file():
        return None
    engine = database_engine(url)
    try:
        with read_transaction(engine) as connection:
            if not inspect(connection).has_table(policies_table.name):
                return None
        stored = SqlGateStore(engine, project=project, tenant=tenant).policy()
    finally:
        engine.dispose()
    return None if stored is None else stored.policy
