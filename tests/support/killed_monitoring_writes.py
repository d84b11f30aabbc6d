"""Kills a process at every changing statement of every write of a monitoring store, and says what each kill left.

As a program: `python -m tests.support.killed_monitoring_writes DATABASE` prints, as JSON, one list for each write with one item for each
kill: whether everything was as before; and the last item, of the attempt that nothing killed: whether it still was.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from sqlalchemy import event, select

from evalplatform.adapters.monitoring.open import open_monitoring_store
from evalplatform.adapters.monitoring.sql import SqlMonitoringStore, audit_table, nights_table, schedules_table
from evalplatform.adapters.tables.engine import database_engine, read_transaction
from tests.support.monitoring_values import ENTRY, FULL_NIGHT, OPEN_ALERT, ended, header, night, schedule

MOST_STATEMENTS = 20
CHANGING = ("INSERT", "UPDATE", "DELETE")
SCHEDULE = schedule(auth=header("old"))
CHANGED = SCHEDULE.with_changes(runs=4)
TOLD = OPEN_ALERT.with_changes(deliveries=())
FINISHED = ended(night(attempt=2), state="checked_flagged", alert=OPEN_ALERT)
WRITES: dict[str, Callable[[SqlMonitoringStore], object]] = {
    "save": lambda store: store.save(SCHEDULE, replaces=None, entry=ENTRY),
    "save again": lambda store: store.save(CHANGED, replaces=SCHEDULE, entry=ENTRY),
    "reseal": lambda store: store.reseal_headers(lambda token: f"new {token}", entry=ENTRY),
    "begin": lambda store: store.begin(night()),
    "take over": lambda store: store.begin(night(attempt=2)),
    "finish": lambda store: store.finish(FINISHED),
    "replace alert": lambda store: store.replace_alert(FINISHED.key, old=OPEN_ALERT, new=TOLD),
    "record": lambda store: store.record(FULL_NIGHT),
    "remove": lambda store: store.remove(SCHEDULE.id, entry=ENTRY),
}
"""In an order in which each has something to change."""


def contents(url: str) -> list[dict[str, Any]]:
    """All rows of the tables of monitoring and of the audit."""
    engine = database_engine(url)
    try:
        with read_transaction(engine) as connection:
            tables = (schedules_table, nights_table, audit_table)
            return [dict(row) for table in tables for row in connection.execute(select(table)).mappings()]
    finally:
        engine.dispose()


def survives(url: str, write: Callable[[SqlMonitoringStore], object], moment: int) -> bool:
    """Write in a process that is killed before its changing statement, or commit, of that number. Return whether it got to its end."""
    child = os.fork()
    if child == 0:
        left = moment

        def die_when_due(*happening: Any) -> None:
            nonlocal left
            is_reading = len(happening) > 1 and not happening[2].startswith(CHANGING)  # of a commit there is the connection alone
            left -= 0 if is_reading else 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        store = open_monitoring_store(url, project="probe", tenant="default")
        engine = store._engine  # what is written through has to be watched, whatever the store says in between
        event.listen(engine, "before_cursor_execute", die_when_due)
        event.listen(engine, "commit", die_when_due)
        write(store)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status:
        raise RuntimeError(f"a write failed, and was not killed: {status}")
    return True


def unchanged_by_each_kill(url: str, write: Callable[[SqlMonitoringStore], object]) -> list[bool]:
    """Whether the database was as before, after each kill and, as the last item, after the write that got through."""
    before = contents(url)
    found = []
    for moment in range(MOST_STATEMENTS):
        got_through = survives(url, write, moment)
        found.append(contents(url) == before)
        if got_through:
            return found
    raise RuntimeError("a write has no end")


if __name__ == "__main__":
    open_monitoring_store(sys.argv[1], project="probe", tenant="default").close()
    print(json.dumps({name: unchanged_by_each_kill(sys.argv[1], write) for name, write in WRITES.items()}))
