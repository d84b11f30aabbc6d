"""Pins beside the runs that they name: neither is a run pinned that retention has just taken out of its batch, nor the other way.

Both sides lock the batch's row before they look: whoever saves a pin shared, whoever takes runs out alone. So the second one waits for the
first and sees what that did. On SQLite a transaction that writes is alone from its start.
"""

from collections.abc import Collection
from itertools import groupby
from operator import attrgetter

from sqlalchemy import Connection, Table, select

from evalplatform.adapters.tables.batches import BatchRow, BatchRunRow
from evalplatform.adapters.tables.monitoring import ScheduleRow
from evalplatform.kernel.errors import MonitoringError
from evalplatform.runs.schedule import Pin

batches_table: Table = BatchRow.__table__  # type: ignore[attr-defined]
runs_table: Table = BatchRunRow.__table__  # type: ignore[attr-defined]
schedules_table: Table = ScheduleRow.__table__  # type: ignore[attr-defined]


def refuse_gone_runs(connection: Connection, *, tenant: str, project: str, pins: Collection[Pin]) -> None:
    """Refuse pins whose runs their batches keep no more; a pin of a batch that is not in this database is nothing to say of here.

    Raises:
        MonitoringError: baseline_not_pinned, for the first such pin.
    """
    by_batch = sorted(pins, key=attrgetter("batch_id"))  # locked in one order by everybody
    for batch_id, of_batch in groupby(by_batch, key=attrgetter("batch_id")):
        ours = (batches_table.c.tenant == tenant, batches_table.c.project == project, batches_table.c.batch_id == batch_id)
        batch_key = connection.execute(select(batches_table.c.id).where(*ours).with_for_update(read=True)).scalar_one_or_none()
        if batch_key is None:
            continue
        named = {pin.run_id: pin for pin in of_batch}
        found = select(runs_table.c.run_id).where(runs_table.c.batch == batch_key, runs_table.c.run_id.in_(named))
        kept = set(connection.execute(found).scalars())
        for run_id, pin in named.items():
            if run_id not in kept:
                rule = f"{batch_id} keeps the run {run_id} no more; pin another one."
                raise MonitoringError("baseline_not_pinned", rule, field=f"scenarios.{pin.scenario_id}")


def pinned_run_ids(connection: Connection, *, tenant: str, project: str, batch_id: str) -> frozenset[str]:
    """Return the runs of a batch that the project's schedules pin."""
    ours = (schedules_table.c.tenant == tenant, schedules_table.c.project == project)
    documents = connection.execute(select(schedules_table.c.document).where(*ours)).scalars()
    return frozenset(pin["run_id"] for document in documents for pin in document["pins"] if pin["batch_id"] == batch_id)
