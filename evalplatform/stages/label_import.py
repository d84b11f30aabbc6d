"""Import human labels: what is new in a file that was read goes into the store, with a record of who brought it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import get_args

from evalplatform.kernel.errors import LabelFileError
from evalplatform.kernel.values import Value
from evalplatform.labels.read import refuse_problems
from evalplatform.labels.records import LabelFile, ReadLabel
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.labels import Label, LabelStore, SubjectKind
from evalplatform.stages.answer_digests import unknown_digests
from evalplatform.stages.context import SuiteContext

ACTION = "labels.import"

ByKey = Mapping[tuple[str, str, str, str], Sequence[Label]]


class LabelImport(Value):
    """What an import came to. `unknown_answers` counts the labelled answers that nothing stored has; their labels are kept all the same.

    `already_there` counts the labels that the store holds, `repeated` what the file says more than once. With `dry_run` nothing was
    written, and `added` says what would be.
    """

    file: str
    file_digest: str
    dry_run: bool
    rows: int
    unjudged_rows: int
    added: int
    already_there: int
    repeated: int
    labellers: tuple[str, ...]
    unknown_answers: int
    passed_over_columns: tuple[str, ...]


def import_labels(
    read: LabelFile, *, store: LabelStore, contexts: Sequence[SuiteContext], actor: str, now: datetime, dry_run: bool = False
) -> LabelImport:
    """Add a file's labels to the store, all or none; importing a file again adds nothing.

    A label without a time of its own is there already when the labeller's latest label of that subject says the same.

    Args:
        read: the file.
        store: where labels are kept.
        contexts: the suites whose stored answers may be meant.
        actor: who imports, for the audit.
        now: when.
        dry_run: only find out what would happen.

    Raises:
        LabelFileError: a label contradicts a stored one of the same labeller and time.
        StorageUnavailableError: a store does not answer; importing again is safe.
    """
    stored = _stored(store, (item.label for item in read.labels))
    refuse_problems([problem for item in read.labels if (problem := _contradiction(item, stored, read.file))], file=read.file)
    new = [item.label for item in read.labels if not _is_there(item, stored)]
    digests = {item.label.subject for item in read.labels if item.label.subject_kind == "answer"}
    unknown = unknown_digests(contexts, digests)  # before anything is written: looking may fail
    added = len(new)
    if not dry_run:
        added = store.add(new, entry=_audit_entry(read, new, actor=actor, now=now)).added
    return LabelImport(
        file=read.file,
        file_digest=read.digest,
        dry_run=dry_run,
        rows=read.rows,
        unjudged_rows=read.unjudged_rows,
        added=added,
        already_there=len(read.labels) - added,
        repeated=read.repeated,
        labellers=tuple(sorted({item.label.labeller for item in read.labels})),
        unknown_answers=len(unknown),
        passed_over_columns=read.passed_over,
    )


def _stored(store: LabelStore, labels: Iterable[Label]) -> ByKey:
    """Return the stored labels of the same subjects, labellers and scales, oldest first."""
    subjects: dict[SubjectKind, set[str]] = {kind: set() for kind in get_args(SubjectKind)}
    for label in labels:
        subjects[label.subject_kind].add(label.subject)
    found: dict[tuple[str, str, str, str], list[Label]] = {}
    for kind, names in subjects.items():
        for label in store.find(kind, names):
            found.setdefault(_key(label), []).append(label)
    return found


def _key(label: Label) -> tuple[str, str, str, str]:
    return label.subject_kind, label.subject, label.labeller, label.scale


def _contradiction(item: ReadLabel, stored: ByKey, file: str) -> LabelFileError | None:
    label = item.label
    for kept in stored.get(_key(label), ()):
        if kept.labelled_at == label.labelled_at and kept.value != label.value:
            rule = (
                f"{label.value!r} contradicts {kept.value!r}, which {label.labeller!r} said at the same time; give it a later labelled_at."
            )
            return LabelFileError(rule, file=file, line=item.line)
    return None


def _is_there(item: ReadLabel, stored: ByKey) -> bool:
    kept = stored.get(_key(item.label), ())
    if item.is_dated:
        return any(label.labelled_at == item.label.labelled_at for label in kept)
    return bool(kept) and kept[-1].value == item.label.value


def _audit_entry(read: LabelFile, new: Sequence[Label], *, actor: str, now: datetime) -> AuditEntry:
    return AuditEntry(
        actor=actor,
        action=ACTION,
        subject=read.digest,
        new_value={
            "file": read.file.encode("utf-8", "replace").decode(),
            "rows": read.rows,
            "unjudged_rows": read.unjudged_rows,
            "labels": len(read.labels),
            "new_labels": len(new),
        },
        happened_at=now,
    )
