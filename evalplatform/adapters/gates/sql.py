"""The gate store on SQL: SQLite or Postgres."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, Engine, RowMapping, Select, Table, and_, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from evalplatform.adapters.tables.audit import AuditRow
from evalplatform.adapters.tables.engine import read_transaction, write_transaction
from evalplatform.adapters.tables.gates import GatePolicyRow, GateRow, GateScenarioRow
from evalplatform.kernel.errors import InputError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.gates import AddedGate, ScenarioAtGate
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.remembered_gate import GatedScenario, GateReport, RememberedGate, StoredPolicy
from evalplatform.runs.storable_text import refuse_nul
from evalplatform.stats.pass_counts import PassCount

PAGE_GATES = 200
CHUNK_ROWS = 1_000
CHANGED_MEANWHILE = "the gate policy was changed by somebody else meanwhile; look at it again (`gate policy show`) and set it anew."

audit_table: Table = AuditRow.__table__  # type: ignore[attr-defined]
gates_table: Table = GateRow.__table__  # type: ignore[attr-defined]
scenarios_table: Table = GateScenarioRow.__table__  # type: ignore[attr-defined]
policies_table: Table = GatePolicyRow.__table__  # type: ignore[attr-defined]

_REPORT_COLUMNS = tuple(GateReport.model_fields)
_OWN_COLUMNS = tuple(name for name in RememberedGate.model_fields if name != "report")
Place = tuple[object, int]
"""When a gate was received, and its row: where a page of gates ends."""


class SqlGateStore:
    """The GateStore port over one database and one project of one tenant."""

    def __init__(self, engine: Engine, *, project: str, tenant: str) -> None:
        self._engine = engine
        self._keys = {"tenant": tenant, "project": project}
        self._ours = and_(gates_table.c.tenant == tenant, gates_table.c.project == project)
        self._our_policy = and_(policies_table.c.tenant == tenant, policies_table.c.project == project)

    def remember(self, gate: RememberedGate, scenarios: Sequence[GatedScenario], *, entry: AuditEntry) -> AddedGate:
        """Store a gate with its scenarios and the audit entry in one transaction, or nothing; the same key again is one gate.

        Of two writers of one key the second waits for the first, and finds its gate.

        Raises:
            InputError: a text holds a NUL.
            StorageUnavailableError: the database does not answer; remembering again is safe.
            StorageError: the database refuses.
        """
        refuse_nul(gate)
        with write_transaction(self._engine) as connection:
            gate_row = self._insert(connection, gate)
            if gate_row is None:
                there = self._with_key(connection, gate.report.key)
                assert there is not None  # its key is why nothing was inserted
                return AddedGate(gate=there, already_there=True)
            for start in range(0, len(scenarios), CHUNK_ROWS):
                rows = [_scenario_row(gate_row, scenario) for scenario in scenarios[start : start + CHUNK_ROWS]]
                connection.execute(insert(scenarios_table), rows)
            self._audit(connection, entry)
        return AddedGate(gate=gate, already_there=False)

    def gate(self, key: str) -> RememberedGate | None:
        """Return the gate of that key, or None. Raises StorageUnavailableError."""
        if not (key.isascii() and key.isprintable()):  # no key is, and a driver may not even encode it
            return None
        with read_transaction(self._engine) as connection:
            return self._with_key(connection, key)

    def gates(self, *, branch: str | None = None, candidate: str | None = None, limit: int | None = None) -> Iterator[RememberedGate]:
        """Iterate over the gates, newest first, a page at a time: those of a branch, of a candidate batch, at most `limit`.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        found = select(gates_table).where(self._ours)
        if branch is not None:
            found = found.where(gates_table.c.branch == branch)
        if candidate is not None:
            found = found.where(gates_table.c.candidate == candidate)
        newest_first = found.order_by(gates_table.c.received_at.desc(), gates_table.c.id.desc())
        left = limit
        before: Place | None = None
        while left is None or left > 0:
            page = self._page(newest_first, before, PAGE_GATES if left is None else min(left, PAGE_GATES))
            if not page:
                return
            yield from map(_gate, page)
            before = (page[-1]["received_at"], page[-1]["id"])
            left = None if left is None else left - len(page)

    def of_scenario(self, scenario_id: str) -> Iterator[ScenarioAtGate]:
        """Iterate over every remembered gate that compared a scenario, oldest first. Raises StorageUnavailableError."""
        if "\x00" in scenario_id:
            return
        joined = select(scenarios_table, gates_table).join(gates_table, gates_table.c.id == scenarios_table.c.gate)
        columns = [
            *gates_table.c,
            *(scenarios_table.c[name] for name in ("scenario_id", "verdict", "path_digest", "passed", "graded", "gates")),
        ]
        found = joined.with_only_columns(*columns).where(self._ours, scenarios_table.c.scenario_id == scenario_id)
        oldest_first = found.order_by(gates_table.c.received_at, gates_table.c.id)
        with read_transaction(self._engine) as connection:
            rows = connection.execute(oldest_first).mappings().all()
        for row in rows:
            yield ScenarioAtGate(_gate(row), _scenario(row))

    def policy(self) -> StoredPolicy | None:
        """Return the policy that is held, or None where none is. Raises StorageUnavailableError."""
        with read_transaction(self._engine) as connection:
            return self._policy(connection)

    def set_policy(self, policy: StoredPolicy, *, replaces: HeldPolicy | None, entry: AuditEntry) -> None:
        """Hold another policy, with the audit entry, in one transaction.

        Raises:
            InputError: another one than `replaces` is held by now: somebody changed it meanwhile.
            StorageUnavailableError: the database does not answer.
        """
        refuse_nul(policy)
        values = {**self._keys, **policy.model_dump(mode="json", include={"policy", "set_by"}), "set_at": policy.set_at}
        with write_transaction(self._engine) as connection:
            if replaces is None:
                dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
                statement = dialect.insert(policies_table).values(values).on_conflict_do_nothing().returning(policies_table.c.project)
                if connection.execute(statement).scalar_one_or_none() is None:
                    raise InputError(CHANGED_MEANWHILE)
            else:
                held = self._policy(connection, for_update=True)
                if held is None or held.policy != replaces:
                    raise InputError(CHANGED_MEANWHILE)
                connection.execute(update(policies_table).where(self._our_policy).values(values))
            self._audit(connection, entry)

    def close(self) -> None:
        """Close the connections; calling it twice is fine."""
        self._engine.dispose()

    def _insert(self, connection: Connection, gate: RememberedGate) -> int | None:
        """Insert the gate's row and return its number; None where its key is there already."""
        report = gate.report.model_dump(mode="json")
        own = {name: getattr(gate, name) for name in _OWN_COLUMNS}
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        values = {**self._keys, **report, **own}
        statement = dialect.insert(gates_table).values(values).on_conflict_do_nothing().returning(gates_table.c.id)
        return connection.execute(statement).scalar_one_or_none()

    def _with_key(self, connection: Connection, key: str) -> RememberedGate | None:
        found = select(gates_table).where(self._ours, gates_table.c.key == key)
        row = connection.execute(found).mappings().one_or_none()
        return None if row is None else _gate(row)

    def _page(self, newest_first: Select[tuple[object, ...]], before: Place | None, size: int) -> Sequence[RowMapping]:
        received_at, row_id = gates_table.c.received_at, gates_table.c.id
        older = newest_first
        if before is not None:
            older = newest_first.where((received_at < before[0]) | ((received_at == before[0]) & (row_id < before[1])))
        with read_transaction(self._engine) as connection:
            return connection.execute(older.limit(size)).mappings().all()

    def _policy(self, connection: Connection, *, for_update: bool = False) -> StoredPolicy | None:
        found = select(policies_table).where(self._our_policy)
        row = connection.execute(found.with_for_update() if for_update else found).mappings().one_or_none()
        return None if row is None else StoredPolicy.model_validate({name: row[name] for name in StoredPolicy.model_fields})

    def _audit(self, connection: Connection, entry: AuditEntry) -> None:
        connection.execute(insert(audit_table).values(project=self._keys["project"], **entry.model_dump()))


def _scenario_row(gate: int, scenario: GatedScenario) -> dict[str, object]:
    own = {name: getattr(scenario, name) for name in ("scenario_id", "verdict", "path_digest", "gates")}
    return {"gate": gate, **own, "passed": scenario.candidate.passed, "graded": scenario.candidate.graded}


def _gate(row: RowMapping) -> RememberedGate:
    report = GateReport.model_validate({name: row[name] for name in _REPORT_COLUMNS})
    return RememberedGate(report=report, **{name: row[name] for name in _OWN_COLUMNS})


def _scenario(row: RowMapping) -> GatedScenario:
    return GatedScenario(
        scenario_id=row["scenario_id"],
        verdict=row["verdict"],
        path_digest=row["path_digest"],
        candidate=PassCount(passed=row["passed"], graded=row["graded"]),
        gates=row["gates"],
    )
