"""Advisory locks of Postgres: for processes anywhere that share a database."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from evalplatform.adapters.outage import Outage

if TYPE_CHECKING:  # a run that finds everything stored takes no lock, and need not wait for SQLAlchemy's import
    from sqlalchemy import Connection, Engine

RETRY_SECONDS = 0.25


class PostgresLocks:
    """The Locks port over one database. Each lock is of the session of a connection of its own, which is closed to give it back.

    Postgres gives the lock back when the connection ends: with the holder's process, with a restart of the server, or because the network
    parted them (after the keepalives of either side). A holder whose connection is lost so is not told and works on: its calls are recorded
    one by one all the same, and at worst another run asks again what it has in flight. A pooler that hands out connections by the
    transaction cannot keep a session's locks: name the server itself.

    Args:
        url: `postgresql://user@host/name`.
        patience_seconds: how long a server that does not answer is waited for, when a lock is asked for.
    """

    def __init__(self, url: str, *, patience_seconds: float = 0.0) -> None:
        self._url = url
        self._outage = Outage(patience_seconds)
        self._outage.answered()  # whoever has patience knows that the server is one that restarts

    @asynccontextmanager
    async def held(self, name: str, *, on_wait: Callable[[], None]) -> AsyncIterator[None]:
        """Hold the lock of that name for the body; see `ports.locks.Locks`. It is asked for four times a second, so Ctrl-C ends a wait."""
        key = lock_key(name)
        connection = await asyncio.to_thread(self._outage.outlasted, self._connected)
        try:
            waiting = False
            while not await asyncio.to_thread(self._taken, connection, key):
                if not waiting:
                    on_wait()
                waiting = True
                await asyncio.sleep(RETRY_SECONDS)
            yield
        finally:
            await asyncio.to_thread(connection.close)

    @cached_property
    def _engine(self) -> "Engine":
        from evalplatform.adapters.tables.engine import unpooled_postgres_engine

        return unpooled_postgres_engine(self._url)

    def _connected(self) -> "Connection":
        from evalplatform.adapters.tables.engine import storage_failures

        with storage_failures(self._engine):
            # In a transaction the server would keep old rows for as long as the lock is held.
            return self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")

    def _taken(self, connection: "Connection", key: int) -> bool:
        from evalplatform.adapters.tables.engine import storage_failures

        with storage_failures(self._engine):
            taken = bool(connection.exec_driver_sql("SELECT pg_try_advisory_lock(%s)", (key,)).scalar_one())
            connection.commit()  # nothing to commit, but closing a lost connection would try to roll back what is not committed
        return taken


def lock_key(name: str) -> int:
    """Return the 64-bit number that stands for a name: the first eight bytes of its sha256, signed as Postgres takes them."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
