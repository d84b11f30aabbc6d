"""The monitoring store on SQL: SQLite or Postgres."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, Select, Table, and_, delete, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from evalplatform.adapters.monitoring.pins import refuse_gone_runs
from evalplatform.adapters.tables.audit import AuditRow
from evalplatform.adapters.tables.engine import read_transaction, write_transaction
from evalplatform.adapters.tables.monitoring import NightRow, ScheduleRow
from evalplatform.kernel.errors import InputError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.monitoring import BegunNight, CheckTenant, ProjectSchedule
from evalplatform.runs.night import Alert, Night, NightSource
from evalplatform.runs.schedule import Schedule
from evalplatform.runs.storable_text import refuse_nul

PAGE_NIGHTS = 100
CHANGED_MEANWHILE = "the schedule was changed by somebody else meanwhile; look at it again (`monitor list`) and save it anew."

audit_table: Table = AuditRow.__table__  # type: ignore[attr-defined]
nights_table: Table = NightRow.__table__  # type: ignore[attr-defined]
schedules_table: Table = ScheduleRow.__table__  # type: ignore[attr-defined]

Row = dict[str, object]


class SqlMonitoringStore:
    """The MonitoringStore port over one database and one project of one tenant."""

    def __init__(self, engine: Engine, *, project: str, tenant: str) -> None:
        self._engine = engine
        self._keys = {"tenant": tenant, "project": project}
        self._of_tenant = schedules_table.c.tenant == tenant
        self._our_schedules = and_(self._of_tenant, schedules_table.c.project == project)
        self._our_nights = and_(nights_table.c.tenant == tenant, nights_table.c.project == project)

    def schedule(self, schedule_id: str) -> Schedule | None:
        """Return a schedule, or None. Raises StorageUnavailableError."""
        with read_transaction(self._engine) as connection:
            return self._schedule(connection, schedule_id)

    def schedules(self) -> tuple[Schedule, ...]:
        """Return the project's schedules, by id. Raises StorageUnavailableError."""
        return tuple(found.schedule for found in self._schedules(select(schedules_table).where(self._our_schedules)))

    def tenant_schedules(self) -> tuple[ProjectSchedule, ...]:
        """Return the schedules of all of the tenant's projects in this database, by project, then id. Raises StorageUnavailableError."""
        return tuple(self._schedules(select(schedules_table).where(self._of_tenant)))

    def save(self, schedule: Schedule, *, replaces: Schedule | None, entry: AuditEntry, check: CheckTenant | None = None) -> None:
        """Store a schedule, with the audit entry, in one transaction; see the port. Of two writers the second waits for the first.

        Raises:
            InputError: another one than `replaces` is stored by now, or a text holds a NUL.
            StorageUnavailableError: the database does not answer.
        """
        refuse_nul(schedule)
        values = {**self._keys, **_schedule_row(schedule)}
        with write_transaction(self._engine) as connection:
            if check is not None:
                self._wait_for_savers(connection)
                check(self._of_statement(connection, select(schedules_table).where(self._of_tenant)))
            if replaces is None:
                statement = _dialect_insert(connection, schedules_table).values(values).on_conflict_do_nothing()
                if connection.execute(statement.returning(schedules_table.c.schedule_id)).scalar_one_or_none() is None:
                    raise InputError(CHANGED_MEANWHILE)
            else:
                if self._schedule(connection, schedule.id, for_update=True) != replaces:
                    raise InputError(CHANGED_MEANWHILE)
                connection.execute(update(schedules_table).where(self._with_id(schedule.id)).values(values))
            before = () if replaces is None else replaces.pins
            refuse_gone_runs(connection, **self._keys, pins=[pin for pin in schedule.pins if pin not in before])
            self._audit(connection, entry)

    def remove(self, schedule_id: str, *, entry: AuditEntry) -> bool:
        """Remove a schedule, with the audit entry; its nights stay. Return whether there was one. Raises StorageUnavailableError."""
        if not _can_be_stored(schedule_id):
            return False
        with write_transaction(self._engine) as connection:
            removed = connection.execute(delete(schedules_table).where(self._with_id(schedule_id))).rowcount
            if removed:
                self._audit(connection, entry)
        return bool(removed)

    def begin(self, night: Night) -> BegunNight:
        """Store a pending night, or take one over from an earlier attempt; see the port.

        Of two that begin one night at once the second waits for the first, and finds its night.

        Raises:
            ValueError: the night has ended.
            InputError: a text holds a NUL.
            StorageUnavailableError: the database does not answer.
        """
        if night.state != "pending":
            raise ValueError(f"the night {night.key} has ended, and so cannot begin")
        with write_transaction(self._engine) as connection:
            if self._inserted(connection, night):
                return BegunNight(night, True)
            there = self._night(connection, night.key, for_update=True)
            if there.state != "pending" or night.attempt <= there.attempt:
                return BegunNight(there, False)
            connection.execute(update(nights_table).where(self._with_key(night.key)).values(_night_row(night)))
        return BegunNight(night, True)

    def record(self, night: Night) -> Night:
        """Store a night that is finished from the start; where one of its key is there, return that.

        Raises:
            ValueError: the night is pending.
            InputError: a text holds a NUL.
            StorageUnavailableError: the database does not answer; recording again is safe.
        """
        _refuse_pending(night)
        with write_transaction(self._engine) as connection:
            return night if self._inserted(connection, night) else self._night(connection, night.key)

    def finish(self, night: Night) -> bool:
        """Store the end of a pending night. Return False, changing nothing, where it is not pending or another attempt has it.

        Raises:
            ValueError: the night is pending.
            InputError: a text holds a NUL.
            StorageUnavailableError: the database does not answer; finishing again is safe.
        """
        _refuse_pending(night)
        refuse_nul(night)
        mine = and_(self._with_key(night.key), nights_table.c.state == "pending", nights_table.c.attempt == night.attempt)
        with write_transaction(self._engine) as connection:
            return connection.execute(update(nights_table).where(mine).values(_night_row(night))).rowcount == 1

    def night(self, key: str) -> Night | None:
        """Return the night of that key, or None. Raises StorageUnavailableError."""
        if not _can_be_stored(key):
            return None
        with read_transaction(self._engine) as connection:
            row = connection.execute(select(nights_table).where(self._with_key(key))).mappings().one_or_none()
        return None if row is None else _night(row)

    def nights(
        self,
        *,
        source: NightSource | None = None,
        stream: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[Night]:
        """Iterate over the nights, newest slot first (then by key), a page at a time. Raises StorageUnavailableError."""
        if stream is not None and not _can_be_stored(stream):
            return
        found = select(nights_table).where(self._our_nights)
        for column, value in ((nights_table.c.source, source), (nights_table.c.stream, stream)):
            found = found if value is None else found.where(column == value)
        found = found if since is None else found.where(nights_table.c.slot_at >= since)
        found = found if before is None else found.where(nights_table.c.slot_at < before)
        newest_first = found.order_by(nights_table.c.slot_at.desc(), nights_table.c.night_key.desc())
        left, page = limit, newest_first
        while left is None or left > 0:
            size = PAGE_NIGHTS if left is None else min(left, PAGE_NIGHTS)
            rows = self._rows(page.limit(size))
            yield from map(_night, rows)
            if len(rows) < size:
                return
            left = None if left is None else left - size
            last = (rows[-1]["slot_at"], rows[-1]["night_key"])
            page = newest_first.where(tuple_(nights_table.c.slot_at, nights_table.c.night_key) < last)

    def pending(self) -> tuple[Night, ...]:
        """Return the nights that have not ended, oldest slot first. Raises StorageUnavailableError."""
        return self._oldest_first(nights_table.c.state == "pending")

    def open_alerts(self) -> tuple[Night, ...]:
        """Return the nights of which an alert is still to be delivered, oldest slot first. Raises StorageUnavailableError."""
        return self._oldest_first(nights_table.c.is_alert_open)

    def replace_alert(self, key: str, *, old: Alert, new: Alert) -> bool:
        """Put a night's alert in place of `old`; False, changing nothing, where it is another by now. Raises StorageUnavailableError."""
        refuse_nul(new)
        with write_transaction(self._engine) as connection:
            row = connection.execute(select(nights_table).where(self._with_key(key)).with_for_update()).mappings().one_or_none()
            if row is None or _night(row).alert != old:
                return False
            connection.execute(update(nights_table).where(self._with_key(key)).values(_alert_columns(new)))
        return True

    def reseal_headers(self, reseal: Callable[[str], str], *, entry: AuditEntry) -> int:
        """Put every stored header value of the database, of all projects and tenants, through `reseal`, in one transaction.

        Raises:
            StorageUnavailableError: the database does not answer. Whatever is raised leaves all of them as they were.
        """
        named = (schedules_table.c.tenant, schedules_table.c.project, schedules_table.c.schedule_id)
        with write_transaction(self._engine) as connection:
            stored = select(*named, schedules_table.c.header_token).where(schedules_table.c.header_token.is_not(None))
            # In one order, so that two that do this at once wait for each other and do not lock each other out.
            rows = connection.execute(stored.order_by(*named).with_for_update()).mappings().all()
            for row in rows:
                of_row = and_(*(column == row[column.name] for column in named))
                connection.execute(update(schedules_table).where(of_row).values(header_token=reseal(row["header_token"])))
            self._audit(connection, entry)
        return len(rows)

    def close(self) -> None:
        """Close the connections; calling it twice is fine."""
        self._engine.dispose()

    def _schedule(self, connection: Connection, schedule_id: str, *, for_update: bool = False) -> Schedule | None:
        if not _can_be_stored(schedule_id):
            return None
        found = select(schedules_table).where(self._with_id(schedule_id))
        row = connection.execute(found.with_for_update() if for_update else found).mappings().one_or_none()
        return None if row is None else _schedule(row)

    def _schedules(self, found: Select[tuple[object, ...]]) -> list[ProjectSchedule]:
        with read_transaction(self._engine) as connection:
            return self._of_statement(connection, found)

    def _of_statement(self, connection: Connection, found: Select[tuple[object, ...]]) -> list[ProjectSchedule]:
        in_order = found.order_by(schedules_table.c.project, schedules_table.c.schedule_id)
        return [ProjectSchedule(row["project"], _schedule(row)) for row in connection.execute(in_order).mappings()]

    def _wait_for_savers(self, connection: Connection) -> None:
        """Let only one transaction at a time count the tenant's schedules and add to them. SQLite's write lock does so anyway."""
        if connection.dialect.name == "postgresql":  # locking the rows that are there would not keep others from adding some
            key = func.hashtextextended(f"schedules of {self._keys['tenant']}", 0)
            connection.execute(select(func.pg_advisory_xact_lock(key)))

    def _with_id(self, schedule_id: str) -> ColumnElement[bool]:
        return and_(self._our_schedules, schedules_table.c.schedule_id == schedule_id)

    def _with_key(self, key: str) -> ColumnElement[bool]:
        return and_(self._our_nights, nights_table.c.night_key == key)

    def _inserted(self, connection: Connection, night: Night) -> bool:
        """Insert a night; False where one of its key is there already."""
        refuse_nul(night)
        statement = _dialect_insert(connection, nights_table).values({**self._keys, **_night_row(night)}).on_conflict_do_nothing()
        return connection.execute(statement.returning(nights_table.c.id)).scalar_one_or_none() is not None

    def _night(self, connection: Connection, key: str, *, for_update: bool = False) -> Night:
        found = select(nights_table).where(self._with_key(key))
        return _night(connection.execute(found.with_for_update() if for_update else found).mappings().one())

    def _oldest_first(self, wanted: ColumnElement[bool]) -> tuple[Night, ...]:
        found = select(nights_table).where(self._our_nights, wanted)
        return tuple(map(_night, self._rows(found.order_by(nights_table.c.slot_at, nights_table.c.night_key))))

    def _rows(self, statement: Select[tuple[object, ...]]) -> Sequence[RowMapping]:
        with read_transaction(self._engine) as connection:
            return connection.execute(statement).mappings().all()

    def _audit(self, connection: Connection, entry: AuditEntry) -> None:
        connection.execute(insert(audit_table).values(project=self._keys["project"], **entry.model_dump()))


def _can_be_stored(name: str) -> bool:
    """Whether a schedule or a night can have that name: all of theirs are plain ASCII, and what is not a driver may not even encode."""
    return name.isascii() and name.isprintable()


def _refuse_pending(night: Night) -> None:
    if night.state == "pending":
        raise ValueError(f"the night {night.key} has not ended")


def _dialect_insert(connection: Connection, table: Table) -> "postgresql.Insert | sqlite.Insert":
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def _schedule_row(schedule: Schedule) -> Row:
    document = schedule.model_dump(mode="json", exclude={"auth": {"token"}})
    return {"schedule_id": schedule.id, "document": document, "header_token": None if schedule.auth is None else schedule.auth.token}


def _schedule(row: RowMapping) -> Schedule:
    document = dict(row["document"])
    if document["auth"] is not None:
        document["auth"] = {**document["auth"], "token": row["header_token"]}
    return Schedule.model_validate(document)


def _night_row(night: Night) -> Row:
    return {
        "night_key": night.key,
        "source": night.source,
        "stream": night.stream,
        "slot_at": night.slot.at,
        "state": night.state,
        "attempt": night.attempt,
        "document": night.model_dump(mode="json", exclude={"alert"}),
        **_alert_columns(night.alert),
    }


def _alert_columns(alert: Alert | None) -> Row:
    return {
        "alert": None if alert is None else alert.model_dump(mode="json"),
        "is_alert_open": alert is not None and alert.state == "pending",
    }


def _night(row: RowMapping) -> Night:
    return Night.model_validate({**row["document"], "alert": row["alert"]})
