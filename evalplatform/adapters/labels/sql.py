"""The label store on SQL: SQLite or Postgres."""

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, Engine, RowMapping, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from evalplatform.adapters.tables.audit import AuditRow
from evalplatform.adapters.tables.engine import read_transaction, write_transaction
from evalplatform.adapters.tables.labels import LabelRow
from evalplatform.kernel.errors import InputError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.labels import AddedLabels, Label, SubjectKind

LOOKUP_CHUNK = 5_000  # subjects a statement: well below the 32,766 parameters that SQLite takes
PAGE_ROWS = 5_000
_KEY = ("subject_kind", "subject", "labeller", "scale", "labelled_at")

labels_table: Table = LabelRow.__table__  # type: ignore[attr-defined]
audit_table: Table = AuditRow.__table__  # type: ignore[attr-defined]

_Key = tuple[object, ...]


class SqlLabelStore:
    """The LabelStore port over one database and one project."""

    def __init__(self, engine: Engine, *, project: str) -> None:
        self._engine = engine
        self._project = project

    def add(self, labels: Sequence[Label], *, entry: AuditEntry) -> AddedLabels:
        """Add all the labels and the audit entry in one transaction, or nothing; the same label twice is one.

        Raises:
            InputError: a labeller has another value for the same subject, scale and time.
            StorageUnavailableError: the database does not answer; adding again is safe.
            StorageError: the database refuses.
        """
        # In the order of their keys, so that two imports of the same labels wait for each other and never both.
        ordered = sorted(labels, key=_key)
        with write_transaction(self._engine) as connection:
            added = self._insert(connection, ordered) if ordered else set()
            self._refuse_other_values(connection, [label for label in ordered if label not in added])
            connection.execute(insert(audit_table).values(project=self._project, **entry.model_dump()))
        return AddedLabels(added=len(added), already_there=len(ordered) - len(added))

    def find(self, subject_kind: SubjectKind, subjects: Iterable[str]) -> list[Label]:
        """Return every label of the subjects, oldest `labelled_at` first.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        with read_transaction(self._engine) as connection:
            found = self._find(connection, subject_kind, subjects)
        return sorted(found, key=lambda label: (label.labelled_at, _key(label)))

    def labels(self) -> Iterator[Label]:
        """Iterate over all labels, in the order they were added, a page at a time.

        Raises:
            StorageUnavailableError: the database does not answer.
        """
        after_id = 0
        ours = select(labels_table).where(labels_table.c.project == self._project).order_by(labels_table.c.id).limit(PAGE_ROWS)
        while True:
            with read_transaction(self._engine) as connection:
                page = connection.execute(ours.where(labels_table.c.id > after_id)).mappings().all()
            if not page:
                return
            for row in page:
                yield _label(row)
            after_id = page[-1]["id"]

    def close(self) -> None:
        """Close the connections; calling it twice is fine."""
        self._engine.dispose()

    def _insert(self, connection: Connection, labels: Sequence[Label]) -> set[Label]:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(labels_table).on_conflict_do_nothing().returning(labels_table)
        rows = [{"project": self._project, **label.model_dump()} for label in labels]
        return {_label(row) for row in connection.execute(statement, rows).mappings()}

    def _find(self, connection: Connection, subject_kind: SubjectKind, subjects: Iterable[str]) -> list[Label]:
        wanted = sorted(set(subjects))
        of_kind = select(labels_table).where(labels_table.c.project == self._project, labels_table.c.subject_kind == subject_kind)
        return [
            _label(row)
            for start in range(0, len(wanted), LOOKUP_CHUNK)
            for row in connection.execute(of_kind.where(labels_table.c.subject.in_(wanted[start : start + LOOKUP_CHUNK]))).mappings()
        ]

    def _refuse_other_values(self, connection: Connection, already_there: Sequence[Label]) -> None:
        for subject_kind in {label.subject_kind for label in already_there}:
            of_kind = [label for label in already_there if label.subject_kind == subject_kind]
            kept = {_key(label): label.value for label in self._find(connection, subject_kind, (label.subject for label in of_kind))}
            for label in of_kind:
                if kept[_key(label)] != label.value:
                    raise InputError(
                        f"{label.labeller!r} labelled {label.subject} as {kept[_key(label)]!r} at {label.labelled_at.isoformat()} already, "
                        f"so {label.value!r} needs a later labelled_at."
                    )


def _key(label: Label) -> _Key:
    return tuple(getattr(label, name) for name in _KEY)


def _label(row: RowMapping) -> Label:
    return Label.model_validate({name: row[name] for name in Label.model_fields})
