"""Opens the locks that belong to a database: whoever shares the one shares the other."""

from pathlib import Path

from evalplatform.adapters.locks.files import FileLocks
from evalplatform.adapters.locks.postgres import PostgresLocks
from evalplatform.ports.locks import Locks

SQLITE_PREFIX = "sqlite:///"


def open_locks(url: str, *, patience_seconds: float = 0.0) -> Locks:
    """Return the locks of the database at `url`; nothing is made, connected or checked yet.

    Args:
        url: as `open_ledger` takes it. SQLite: lock files in the folder `NAME.db-locks` beside the file. Postgres: its advisory locks.
        patience_seconds: how long a Postgres that does not answer is waited for.
    """
    if url.startswith(SQLITE_PREFIX):
        file = Path(url.removeprefix(SQLITE_PREFIX)).expanduser()
        return FileLocks(file.with_name(f"{file.name}-locks"))
    return PostgresLocks(url, patience_seconds=patience_seconds)
