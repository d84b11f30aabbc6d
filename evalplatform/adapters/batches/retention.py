"""Removing runs of stored batches, and trajectories that no run names any more."""

from collections.abc import Collection, Sequence
from itertools import islice

from sqlalchemy import Connection, Table, bindparam, delete, select, text, update

from evalplatform.adapters.tables.batches import BatchRow, BatchRunRow, BatchViolationRow
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.runs.records import Retention

CHUNK_ROWS = 1_000

batches_table: Table = BatchRow.__table__  # type: ignore[attr-defined]
runs_table: Table = BatchRunRow.__table__  # type: ignore[attr-defined]
violations_table: Table = BatchViolationRow.__table__  # type: ignore[attr-defined]


def locked_retention(connection: Connection, batch_key: int) -> Retention:
    """Return what a batch keeps now. Of two that would take runs out of one batch the second waits here for the first."""
    retention: Retention = connection.execute(
        select(batches_table.c.retention).where(batches_table.c.id == batch_key).with_for_update()
    ).scalar_one()
    return retention


def mark_retention(connection: Connection, batch_key: int, retention: Retention) -> None:
    """Write what a batch keeps from now on."""
    connection.execute(update(batches_table).where(batches_table.c.id == batch_key).values(retention=retention))


def remove_runs(connection: Connection, batch_key: int, *, keep: Collection[str], batch_id: str) -> None:
    """Remove the runs of a batch, with their violations, but those with the ids `keep`.

    Raises:
        UnknownNameError: it has no run of an id to keep.
    """
    columns = (runs_table.c.scenario_id, runs_table.c.run_order, runs_table.c.run_id)
    rows = connection.execute(select(*columns).where(runs_table.c.batch == batch_key)).mappings().all()
    ids = {row["run_id"] for row in rows}
    unknown = next((run_id for run_id in keep if run_id not in ids), None)
    if unknown is not None:
        raise UnknownNameError(f"run of {batch_id}", unknown, ids)
    kept = frozenset(keep)
    removed = [{"scenario": row["scenario_id"], "place": row["run_order"]} for row in rows if row["run_id"] not in kept]
    chunks = iter(removed)
    while chunk := list(islice(chunks, CHUNK_ROWS)):
        for table in (violations_table, runs_table):
            one = (table.c.batch == batch_key) & (table.c.scenario_id == bindparam("scenario")) & (table.c.run_order == bindparam("place"))
            connection.execute(delete(table).where(one), chunk)


def hold_back_additions(connection: Connection) -> None:
    """Let no run be added by anybody until the transaction ends. On SQLite a transaction that writes does so from its start."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {runs_table.name} IN SHARE MODE"))


def named_trajectories(connection: Connection, digests: Sequence[str]) -> frozenset[str]:
    """Return which of these trajectories a run names, of any project and tenant."""
    digest = runs_table.c.trajectory_digest
    return frozenset(connection.execute(select(digest).where(digest.in_(digests)).distinct()).scalars())
