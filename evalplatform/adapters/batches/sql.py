"""The batch store on SQL: SQLite or Postgres."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeVar

from sqlalchemy import Connection, Engine, RowMapping, Select, Table, and_, insert, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from evalplatform.adapters.batches.retention import (
    hold_back_additions,
    locked_retention,
    mark_retention,
    named_trajectories,
    remove_runs,
)
from evalplatform.adapters.batches.rows import batch_of, batch_row, run_of, run_row, scenario_rows, violation_rows
from evalplatform.adapters.monitoring.pins import pinned_run_ids
from evalplatform.adapters.tables.audit import AuditRow
from evalplatform.adapters.tables.batches import BatchRow, BatchRunRow, BatchScenarioRow, BatchViolationRow
from evalplatform.adapters.tables.engine import read_transaction, write_transaction
from evalplatform.kernel.errors import InputError, StorageError, UnknownNameError
from evalplatform.kernel.text import clip
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.batches import AddedBatch
from evalplatform.runs.batch_tally import BatchTally
from evalplatform.runs.records import Batch, Retention, Run
from evalplatform.runs.storable_text import refuse_nul

CHUNK_ROWS = 1_000  # rows that are written, and runs that are read, at a time
PAGE_BATCHES = 100
ID_CHARS = 100  # of a run id that is unknown are shown

audit_table: Table = AuditRow.__table__  # type: ignore[attr-defined]
batches_table: Table = BatchRow.__table__  # type: ignore[attr-defined]
scenarios_table: Table = BatchScenarioRow.__table__  # type: ignore[attr-defined]
runs_table: Table = BatchRunRow.__table__  # type: ignore[attr-defined]
violations_table: Table = BatchViolationRow.__table__  # type: ignore[attr-defined]

T = TypeVar("T")


class SqlBatchStore:
    """The BatchStore port over one database and one project of one tenant."""

    def __init__(self, engine: Engine, *, project: str, tenant: str) -> None:
        self._engine = engine
        self._project = project
        self._of_tenant = batches_table.c.tenant == tenant  # in every look at the table: other tenants' batches do not exist here
        self._of_project = and_(self._of_tenant, batches_table.c.project == project)
        self._tenant = tenant

    def add(self, batch: Batch, runs: Iterable[Run], *, entry: AuditEntry) -> AddedBatch:
        """Add a batch with all its runs and the audit entry in one transaction, or nothing; the same content again is one batch.

        Of two writers of the same content the second waits for the first. Where the batch is there already nothing is read or written.

        Raises:
            InputError: the batch is of another project or tenant, its runs are not those of its counts and digest, or a text holds a NUL.
            StorageUnavailableError: the database does not answer; adding again is safe.
            StorageError: the database refuses.
        """
        if batch.header.tenant != self._tenant:
            raise InputError(f"the batch {batch.id} was recorded for another tenant than this project's, {self._tenant!r}.")
        if batch.header.project != self._project:
            raise _of_another_project(batch.id, batch.header.project, self._project)
        refuse_nul(batch)
        with write_transaction(self._engine) as connection:
            batch_key = self._insert_batch(connection, batch)
            if batch_key is None:
                return AddedBatch(batch=self._there_already(connection, batch), already_there=True)
            for rows in _chunks(scenario_rows(batch_key, batch.header.scenarios)):
                connection.execute(insert(scenarios_table), rows)
            written = _insert_runs(connection, batch_key, runs).batch(batch.header, truncated_reason=batch.truncated_reason)
            if written != batch.with_changes(retention="whole"):
                raise InputError(f"the runs are not those of the batch {batch.id}: they make {written.id}, of {written.run_count:,} runs.")
            connection.execute(insert(audit_table).values(project=self._project, **entry.model_dump()))
        return AddedBatch(batch=batch, already_there=False)

    def of_content(self, content_digest: str) -> Batch | None:
        """Return the batch of that content, or None where there is none. Raises StorageUnavailableError."""
        with read_transaction(self._engine) as connection:
            row = connection.execute(self._ours().where(batches_table.c.content_digest == content_digest)).mappings().one_or_none()
            return None if row is None else _with_scenarios(connection, row)

    def batch(self, batch_id: str) -> Batch:
        """Return one batch.

        Raises:
            UnknownNameError: no such batch in this project, with the nearest id; nor does one of another tenant exist here.
            InputError: it is a batch of another project of the tenant, which is named.
            StorageUnavailableError: the database does not answer.
        """
        with read_transaction(self._engine) as connection:
            return _with_scenarios(connection, self._row(connection, batch_id))

    def batches(self, *, since: datetime | None = None, limit: int | None = None) -> Iterator[Batch]:
        """Iterate over the batches, newest first (by recorded time, then id): those recorded at `since` or later, at most `limit`.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        return islice(self._newest_first(since), limit)

    def ids(self, *, with_legs: bool = True) -> tuple[str, ...]:
        """Return the ids of all batches, or of all but the legs of nights, newest first as in `batches`, reading nothing else.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        found = select(batches_table.c.batch_id).where(self._of_project)
        if not with_legs:
            found = found.where(batches_table.c.origin != "night")
        newest_first = found.order_by(batches_table.c.recorded_at.desc(), batches_table.c.batch_id.desc())
        with read_transaction(self._engine) as connection:
            return tuple(connection.execute(newest_first).scalars())

    def runs(self, batch_id: str) -> Iterator[Run]:
        """Iterate over a batch's runs in the order of scenario id (code points), then order; a page of them is in memory at a time.

        Raises:
            UnknownNameError, InputError: as `batch` does, before the first run.
            StorageUnavailableError: the database does not answer.
        """
        with read_transaction(self._engine) as connection:
            batch_key = self._row(connection, batch_id)["id"]
        return self._runs_of(batch_key)

    def run(self, batch_id: str, run_id: str) -> Run:
        """Return one run of a batch.

        Raises:
            UnknownNameError: no such batch, or no such run in it.
            InputError: the batch is compacted or expired, and no such run is kept of it.
            StorageUnavailableError: the database does not answer.
        """
        with read_transaction(self._engine) as connection:
            batch = self._row(connection, batch_id)
            batch_key = batch["id"]
            ours = select(runs_table).where(runs_table.c.batch == batch_key)
            row = _looked_up(connection, ours.where(runs_table.c.run_id == run_id), run_id)
            if row is None:
                if batch["retention"] != "whole":
                    raise InputError(f"{batch_id} is {batch['retention']}, and no run {clip(run_id, ID_CHARS)!r} is kept of it.")
                known = connection.execute(select(runs_table.c.run_id).where(runs_table.c.batch == batch_key)).scalars()
                raise UnknownNameError(f"run of {batch_id}", run_id, known)
            (run,) = _with_violations(connection, batch_key, [row])
        return run

    def compact(self, batch_id: str, *, keep: Collection[str], entry: AuditEntry) -> bool:
        """Remove the runs of a whole batch but those with the ids `keep`, and mark it compacted, with the audit entry, in one transaction.

        Returns whether it was done; False, changing nothing, where the batch is whole no more, or a schedule pins another run of it.

        Raises:
            UnknownNameError: no such batch, or it has no run of an id to keep.
            InputError: it is a batch of another project.
            StorageUnavailableError: the database does not answer; trying again is safe.
        """
        return self._retain(batch_id, "compacted", instead_of=("whole",), keep=keep, entry=entry)

    def expire(self, batch_id: str, *, entry: AuditEntry) -> bool:
        """Remove all runs of a batch and mark it expired, with the audit entry, in one transaction. Returns and raises as `compact`."""
        return self._retain(batch_id, "expired", instead_of=("whole", "compacted"), keep=(), entry=entry)

    def remove_unused(self, trajectory_digests: Collection[str], remove: Callable[[Collection[str]], None]) -> int:
        """Have trajectories removed that no run of the whole database names, of any project and tenant; return how many.

        No batch is added between the look and the removal: writers wait meanwhile, so that it should be a few hundred at most.

        Raises:
            StorageUnavailableError: the database does not answer; trying again is safe.
        """
        asked = sorted(set(trajectory_digests))
        with write_transaction(self._engine) as connection:
            hold_back_additions(connection)
            named = named_trajectories(connection, asked)
            unused = [digest for digest in asked if digest not in named]
            if unused:
                remove(unused)
        return len(unused)

    def close(self) -> None:
        """Close the connections; calling it twice is fine."""
        self._engine.dispose()

    def _retain(
        self, batch_id: str, retention: Retention, *, instead_of: tuple[Retention, ...], keep: Collection[str], entry: AuditEntry
    ) -> bool:
        with write_transaction(self._engine) as connection:
            batch_key = self._row(connection, batch_id)["id"]
            if locked_retention(connection, batch_key) not in instead_of:
                return False
            if not pinned_run_ids(connection, tenant=self._tenant, project=self._project, batch_id=batch_id).issubset(keep):
                return False
            mark_retention(connection, batch_key, retention)
            remove_runs(connection, batch_key, keep=keep, batch_id=batch_id)
            connection.execute(insert(audit_table).values(project=self._project, **entry.model_dump()))
        return True

    def _ours(self) -> Select[tuple[object, ...]]:
        return select(batches_table).where(self._of_project)

    def _insert_batch(self, connection: Connection, batch: Batch) -> int | None:
        """Insert the batch's row and return its key; None where its content is there already."""
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(batches_table).values(batch_row(batch)).on_conflict_do_nothing().returning(batches_table.c.id)
        return connection.execute(statement).scalar_one_or_none()

    def _there_already(self, connection: Connection, batch: Batch) -> Batch:
        same_content = self._ours().where(batches_table.c.content_digest == batch.content_digest)
        row = connection.execute(same_content).mappings().one_or_none()
        if row is None:  # 8 hex digits and a second: two contents in four thousand million
            raise StorageError(f"another batch has the id {batch.id}; record it again.")
        return _with_scenarios(connection, row)

    def _row(self, connection: Connection, batch_id: str) -> RowMapping:
        found = _looked_up(connection, self._ours().where(batches_table.c.batch_id == batch_id), batch_id)
        if found is not None:
            return found
        of_any_project = select(batches_table).where(self._of_tenant, batches_table.c.batch_id == batch_id).limit(1)
        elsewhere = _looked_up(connection, of_any_project, batch_id)
        if elsewhere is not None:
            raise _of_another_project(batch_id, elsewhere["project"], self._project)
        known = connection.execute(select(batches_table.c.batch_id).where(self._of_project)).scalars()
        raise UnknownNameError("batch", batch_id, known)

    def _newest_first(self, since: datetime | None) -> Iterator[Batch]:
        recorded_at, batch_id = batches_table.c.recorded_at, batches_table.c.batch_id
        wanted = self._ours().order_by(recorded_at.desc(), batch_id.desc()).limit(PAGE_BATCHES)
        if since is not None:
            wanted = wanted.where(recorded_at >= since)
        page = wanted
        while True:
            with read_transaction(self._engine) as connection:
                rows = connection.execute(page).mappings().all()
            for row in rows:
                with read_transaction(self._engine) as connection:
                    batch = _with_scenarios(connection, row)
                yield batch
            if len(rows) < PAGE_BATCHES:
                return
            page = wanted.where(tuple_(recorded_at, batch_id) < (rows[-1]["recorded_at"], rows[-1]["batch_id"]))

    def _runs_of(self, batch_key: int) -> Iterator[Run]:
        key = tuple_(runs_table.c.scenario_id, runs_table.c.run_order)
        in_order = select(runs_table).where(runs_table.c.batch == batch_key)
        in_order = in_order.order_by(runs_table.c.scenario_id, runs_table.c.run_order).limit(CHUNK_ROWS)
        page = in_order
        while True:
            with read_transaction(self._engine) as connection:
                rows = connection.execute(page).mappings().all()
                runs = _with_violations(connection, batch_key, rows)
            yield from runs
            if len(rows) < CHUNK_ROWS:
                return
            page = in_order.where(key > (rows[-1]["scenario_id"], rows[-1]["run_order"]))


def _insert_runs(connection: Connection, batch_key: int, runs: Iterable[Run]) -> BatchTally:
    tally = BatchTally()
    for chunk in _chunks(runs):
        for run in chunk:
            refuse_nul(run)
        connection.execute(insert(runs_table), [run_row(batch_key, run, run_id=tally.add(run)) for run in chunk])
        for rows in _chunks(row for run in chunk for row in violation_rows(batch_key, run)):
            connection.execute(insert(violations_table), rows)
    return tally


def _with_scenarios(connection: Connection, row: RowMapping) -> Batch:
    declared = select(scenarios_table).where(scenarios_table.c.batch == row["id"]).order_by(scenarios_table.c.scenario_id)
    return batch_of(row, connection.execute(declared).mappings())


def _with_violations(connection: Connection, batch_key: int, rows: Sequence[RowMapping]) -> list[Run]:
    """Return the runs of these rows, which stand in the order of their keys."""
    if not rows:
        return []
    key = tuple_(violations_table.c.scenario_id, violations_table.c.run_order)
    first, last = ((row["scenario_id"], row["run_order"]) for row in (rows[0], rows[-1]))
    found = select(violations_table).where(violations_table.c.batch == batch_key, key >= first, key <= last)
    by_run: dict[tuple[str, int], list[RowMapping]] = defaultdict(list)
    for violation in connection.execute(found.order_by(violations_table.c.position)).mappings():
        by_run[violation["scenario_id"], violation["run_order"]].append(violation)
    return [run_of(row, by_run[row["scenario_id"], row["run_order"]]) for row in rows]


def _looked_up(connection: Connection, statement: Select[tuple[object, ...]], name: str) -> RowMapping | None:
    """Return the one row of a name; None also for a name that no row can have, which a driver may not even encode."""
    if not (name.isascii() and name.isprintable()):
        return None
    return connection.execute(statement).mappings().one_or_none()


def _of_another_project(batch_id: str, project: str, ours: str) -> InputError:
    return InputError(f"the batch {batch_id} is of the project {project!r}, and this is {ours!r}.")


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while chunk := list(islice(left, CHUNK_ROWS)):
        yield chunk
