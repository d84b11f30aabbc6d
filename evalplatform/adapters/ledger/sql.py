"""The ledger on SQL: SQLite or Postgres, one writer thread a process, group commit."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Engine

from evalplatform.adapters.ledger.group_commit import GroupCommit
from evalplatform.adapters.ledger.selections import call_groups, page_of_rows, remove_calls
from evalplatform.adapters.ledger.statements import KeyTuple, find_calls, key_tuple, read_spend, record_calls
from evalplatform.adapters.outage import RESTART_SECONDS, Outage
from evalplatform.adapters.tables.engine import read_transaction, write_transaction
from evalplatform.kernel.errors import StorageError
from evalplatform.ports.ledger import EVERY_CALL, CallGroup, CallKey, CallSelection, LedgerRow, Spend

PAGE_ROWS = 200


@dataclass(frozen=True, slots=True)
class _Find:
    key: KeyTuple


@dataclass(frozen=True, slots=True)
class _Record:
    row: LedgerRow


@dataclass(frozen=True, slots=True)
class _ReadSpend:
    run_id: str


_Operation = _Find | _Record | _ReadSpend


class SqlLedger:
    """The Ledger port over one database and one project.

    It may be used from several event loops and threads. A reply is durable when `record` returns: its transaction is committed, with the
    database's write-ahead log flushed. Everything that waits while a transaction commits shares the next one.

    A Postgres that goes away is waited for, `RESTART_SECONDS` from its first failure: replies that are paid for outlast its restart. A
    SQLite file that cannot be used will not heal by itself, and a locked one has been waited for already.
    """

    def __init__(self, engine: Engine, *, project: str) -> None:
        self._engine = engine
        self._project = project
        self._outage = Outage(RESTART_SECONDS if engine.dialect.name == "postgresql" else 0.0)
        self._outage.answered()  # its schema has been looked at
        self._group: GroupCommit[_Operation] = GroupCommit(self._run_batch, name=f"ledger-{project}")

    async def find(self, key: CallKey) -> LedgerRow | None:
        """Return the row with that key, or None.

        Raises:
            StorageUnavailableError: the database does not answer, or the ledger is closed.
        """
        return cast("LedgerRow | None", await self._group.submit(_Find(key_tuple(key))))

    async def record(self, row: LedgerRow) -> LedgerRow:
        """Make the row durable and return it; where its key is taken, the row that was first stays and is returned.

        Raises:
            StorageError: the row belongs to another project, or the database refuses it.
            StorageUnavailableError: the database does not answer, or the ledger is closed. The row may or may not be there; recording it
                again is safe.
        """
        if row.project != self._project:
            raise StorageError(f"a row of project {row.project!r} cannot go into the ledger of project {self._project!r}.")
        return cast("LedgerRow", await self._group.submit(_Record(row)))

    async def spend(self, run_id: str) -> Spend:
        """Return what `run_id` has paid so far, over all processes; replayed calls cost nothing.

        Raises:
            StorageUnavailableError: the database does not answer, or the ledger is closed.
        """
        return cast("Spend", await self._group.submit(_ReadSpend(run_id)))

    async def rows(self, selection: CallSelection = EVERY_CALL) -> AsyncIterator[LedgerRow]:
        """Iterate over the rows, oldest first, a page at a time; rows recorded meanwhile may or may not come along.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        after_id = 0
        while page := await to_thread(self._page, selection, after_id):
            for row_id, row in page:
                yield row
                after_id = row_id

    async def groups(self, selection: CallSelection = EVERY_CALL) -> tuple[CallGroup, ...]:
        """Return the selected calls added up by day (UTC), scope, purpose, provider and model, in that order.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        return await to_thread(self._groups, selection)

    async def remove(self, keys: Sequence[CallKey]) -> int:
        """Forget the calls with those keys, all in one transaction, and return how many there were. What their runs have paid stays known.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        return await to_thread(self._remove, [key_tuple(key) for key in keys])

    async def aclose(self) -> None:
        """Write what is queued and close; calling it twice is fine."""
        await to_thread(self._group.close)
        self._engine.dispose()

    def _page(self, selection: CallSelection, after_id: int) -> list[tuple[int, LedgerRow]]:
        with read_transaction(self._engine) as connection:
            return page_of_rows(connection, self._project, selection, after_id=after_id, limit=PAGE_ROWS)

    def _groups(self, selection: CallSelection) -> tuple[CallGroup, ...]:
        with read_transaction(self._engine) as connection:
            return call_groups(connection, self._project, selection)

    def _remove(self, keys: Sequence[KeyTuple]) -> int:
        with write_transaction(self._engine) as connection:
            return remove_calls(connection, self._project, keys)

    def _run_batch(self, operations: Sequence[_Operation]) -> list[object]:
        """Do all the operations, again where the database went away: a row told twice by its run is one row, and costs it once."""
        return self._outage.outlasted(lambda: self._in_one_transaction(operations))

    def _in_one_transaction(self, operations: Sequence[_Operation]) -> list[object]:
        """Do all the operations in one transaction; return their results after its commit."""
        rows = [operation.row for operation in operations if isinstance(operation, _Record)]
        keys = [operation.key for operation in operations if isinstance(operation, _Find)]
        run_ids = [operation.run_id for operation in operations if isinstance(operation, _ReadSpend)]
        transaction = write_transaction if rows else read_transaction
        with transaction(self._engine) as connection:
            recorded = record_calls(connection, self._project, rows) if rows else {}
            found = find_calls(connection, self._project, keys) if keys else {}
            spends = read_spend(connection, self._project, run_ids) if run_ids else {}
        return [_result(operation, recorded, found, spends) for operation in operations]


def _result(
    operation: _Operation, recorded: dict[KeyTuple, LedgerRow], found: dict[KeyTuple, LedgerRow], spends: dict[str, Spend]
) -> object:
    if isinstance(operation, _Record):
        return recorded[key_tuple(operation.row.key)]
    if isinstance(operation, _Find):
        return found.get(operation.key)
    return spends.get(operation.run_id, Spend())
