"""Retention: old batches are compacted and then expire, and trajectories go that no run names any more.

Which trajectories the removal of runs leaves to be looked at is written into the object store before the runs go. So a kill anywhere leaves
a batch as it was, or as it is to be with a note that the next retention goes on with.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial

import orjson

from evalplatform.artifacts.blobs import remove_blobs
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import ObjectNotFoundError
from evalplatform.monitoring.retention import (
    DAY,
    NIGHT_DAYS,
    RETENTIONS,
    BatchNeeds,
    RetainedBatch,
    RetentionOutcome,
    RetentionStep,
    batch_needs,
    parted_runs,
    retention_step,
)
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.monitoring import MonitoringStore
from evalplatform.runs.records import Batch, Retention
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.stages.runs_context import RunsContext

COMPACT, EXPIRE = "batches.compact", "batches.expire"
NOTES_FOLDER = "retention"
TRAJECTORIES_AT_ONCE = 200  # writers wait for those


def retain_runs(context: RunsContext, monitoring: MonitoringStore, *, actor: str, dry_run: bool = False) -> RetentionOutcome:
    """Compact and expire the project's batches by its retention settings; without such settings nothing is changed.

    What needs a batch is looked up again just before its runs go. Two retentions at once are safe: of each batch one does it.

    Args:
        context: the agent side of the project.
        monitoring: its schedules and nights.
        actor: who does it, for the audit.
        dry_run: change nothing, and return what would be.

    Raises:
        StorageError: a store cannot be read or written; what is done is done, and doing it again goes on.
    """
    now = context.clock.now()
    settings = context.project.settings.retention
    needs = _Needs(context, monitoring, now)
    at_start = needs.looked_up()
    removed = 0 if dry_run else _go_on(context)
    found: list[RetainedBatch] = []
    states: Counter[Retention] = Counter()
    for batch in context.batches.batches():
        step = retention_step(batch, at_start, settings=settings, now=now)
        if step.changes and not dry_run:
            step = retention_step(batch, needs.looked_up(), settings=settings, now=now)
        if step.changes:
            retained, gone = _retained(context, batch, step, needs.last.pinned_runs(batch.id), actor=None if dry_run else actor)
            removed += gone
            found += retained
            states[step.after if retained else context.batches.batch(batch.id).retention] += 1
            continue
        if step.holder is not None:
            found.append(RetainedBatch(step=step))
        states[step.after] += 1
    return RetentionOutcome(
        decided_at=now,
        settings=settings,
        is_dry_run=dry_run,
        batches=tuple(found),
        states={state: states[state] for state in RETENTIONS},
        removed_trajectories=None if dry_run else removed,
    )


class _Needs:
    """What needs batches, looked up again cheaply: of the gates only what was remembered since, of the schedules all."""

    def __init__(self, context: RunsContext, monitoring: MonitoringStore, now: datetime) -> None:
        self._context, self._monitoring, self._now = context, monitoring, now
        self._gates: dict[str, RememberedGate] = {}
        self._nights = tuple(monitoring.nights(since=now - NIGHT_DAYS * DAY))  # one that ends meanwhile names legs that are young
        self.last = BatchNeeds()

    def looked_up(self) -> BatchNeeds:
        """Return what needs batches now; it is `last` from then on."""
        for gate in self._context.gates.gates():
            if gate.report.key in self._gates:
                break
            self._gates[gate.report.key] = gate
        schedules = self._monitoring.schedules()
        self.last = batch_needs(gates=self._gates.values(), nights=self._nights, schedules=schedules, now=self._now)
        return self.last


def _retained(
    context: RunsContext, batch: Batch, step: RetentionStep, pinned: Collection[str], *, actor: str | None
) -> tuple[list[RetainedBatch], int]:
    """Take the runs out of a batch, and return what became of it and how many trajectories went; without an actor nothing is changed.

    A batch that holds no more than it would keep stays whole, since it still has all its run sets. Where another retention took runs out
    meanwhile, that one tells of the batch; where another run of it was pinned, the next one does.
    """
    parted = parted_runs(context.batches.runs(batch.id), after=step.after, pinned=pinned)
    if step.after == "compacted" and not parted.removed:
        return [], 0
    retained = RetainedBatch(step=step, kept_runs=len(parted.kept), removed_runs=parted.removed)
    if actor is None:
        return [retained], 0
    entry = AuditEntry(
        actor=actor,
        action=COMPACT if step.after == "compacted" else EXPIRE,
        subject=batch.id,
        old_value={"retention": step.before, "runs": len(parted.kept) + parted.removed},
        new_value={"retention": step.after, "runs": len(parted.kept)},
        happened_at=context.clock.now(),
    )
    note = f"{_notes_folder(context)}{batch.id}.json"
    context.objects.put(note, orjson.dumps(sorted(parted.trajectories)))
    if step.after == "compacted":
        is_done = context.batches.compact(batch.id, keep=parted.kept, entry=entry)
    else:
        is_done = context.batches.expire(batch.id, entry=entry)
    # Not by the note: another retention may have looked at that before the runs went, and found all in use.
    gone = _removed_unused(context, sorted(parted.trajectories))
    context.objects.delete(note)
    return [retained] if is_done else [], gone


def _go_on(context: RunsContext) -> int:
    """Remove what no run names of the trajectories in notes of retentions that were killed, then the notes; return how many there were."""
    removed = 0
    for note in [info.key for info in context.objects.list(_notes_folder(context))]:
        try:
            digests: list[str] = orjson.loads(context.objects.get(note))
        except ObjectNotFoundError:  # that retention was not killed, and is done
            continue
        removed += _removed_unused(context, digests)
        context.objects.delete(note)
    return removed


def _removed_unused(context: RunsContext, digests: Sequence[str]) -> int:
    """Remove those of the trajectories that no run names, and return how many there were."""
    remove = partial(remove_blobs, context.objects)
    chunks = (digests[start : start + TRAJECTORIES_AT_ONCE] for start in range(0, len(digests), TRAJECTORIES_AT_ONCE))
    return sum(context.batches.remove_unused(chunk, remove) for chunk in chunks)


def _notes_folder(context: RunsContext) -> str:
    """Return where this project's notes lie."""
    settings = context.project.settings
    return f"{NOTES_FOLDER}/{json_digest([settings.tenant, settings.project]).removeprefix('sha256:')[:16]}/"
