"""Pushing a bundle: the file that a batch was recorded in becomes a batch of the store.

The bundle is read three times, one run in memory at a time: checked as a whole, then its trajectories are stored, then its rows are added
in one transaction. So nothing of a bundle that cannot be used is stored, a batch never names a trajectory that is not there, and a push
that is killed anywhere leaves no batch, or the whole of it; pushing again is always safe.

Retention may remove a trajectory that no run names any more just as another batch with it is pushed. It holds no batch back from being
added for long, so the push looks once more afterwards, and stores again what went.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from evalplatform.artifacts.blobs import missing_blobs, put_blobs
from evalplatform.kernel.errors import BundleError, InputError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.batches import AddedBatch, BatchStore
from evalplatform.ports.object_store import ObjectStore
from evalplatform.runs.bundle import BundleReader, NumberedRun, recorded_runs, runs_alone
from evalplatform.runs.contradiction import contradiction
from evalplatform.runs.records import Batch, BatchHeader, Run
from evalplatform.runs.storable_text import refuse_nul
from evalplatform.runs.trajectory import trajectory_bytes

ACTION = "batches.push"
CHUNK_BYTES = 8_000_000  # of trajectories that are in memory at a time
CHUNK_TRAJECTORIES = 500


def push_bundle(path: Path, *, project: str, tenant: str, batches: BatchStore, store: ObjectStore, actor: str, now: datetime) -> AddedBatch:
    """Store the batch of a finished bundle; where the same content was pushed before, return that batch and store nothing.

    Args:
        path: the bundle.
        project, tenant: whose batches these are; a bundle of another is refused.
        batches: where the batch goes.
        store: where its trajectories go.
        actor: who pushes, for the audit.
        now: when.

    Raises:
        BundleError: with the line, why the bundle cannot be used: unfinished, damaged, of another project; a NUL that no database holds.
        StorageUnavailableError: a store does not answer; pushing again is safe.
    """
    batch = checked_batch(path, project=project, tenant=tenant)
    there = batches.of_content(batch.content_digest)
    if there is not None:
        return AddedBatch(batch=there, already_there=True)
    stored = _put_trajectories(path, store)
    added = batches.add(batch, runs_alone(path), entry=_audit_entry(batch, path, actor=actor, now=now))
    if missing_blobs(store, stored):  # removed for want of a run that names them, before this batch did; nothing removes them now
        _put_trajectories(path, store)
    return added


def checked_batch(path: Path, *, project: str, tenant: str) -> Batch:
    """Read a bundle through, check all that storing it needs, and return its batch.

    Raises:
        BundleError: as `push_bundle` does.
    """
    reader = BundleReader(path)
    _refuse_header(reader.header, path, project=project, tenant=tenant)
    for recorded in reader.recorded():
        _refuse_run(recorded, path)
    if not reader.is_finished:
        raise BundleError(f"is not finished: {_how_to_finish(reader.header, path)}", file=path)
    batch = reader.batch
    if not batch.run_count:
        raise BundleError("holds no run, so there is no batch to store.", file=path)
    return batch


def _how_to_finish(header: BatchHeader, path: Path) -> str:
    if header.origin == "import":  # an import writes the whole of a bundle at once
        return "it is a part of an imported one. Import the traces again into a new file."
    return f"the command that recorded it was stopped. The same command with `--out {path}` goes on and finishes it."


def _refuse_header(header: BatchHeader, path: Path, *, project: str, tenant: str) -> None:
    for what, recorded, ours in (("project", header.project, project), ("tenant", header.tenant, tenant)):
        if recorded != ours:
            raise BundleError(f"was recorded for the {what} {recorded!r}, and this is {ours!r}.", file=path, line=1, field=f"header.{what}")
    _refuse_nul(header, path, line=1, part="header")


def _refuse_run(recorded: NumberedRun, path: Path) -> None:
    line, run, trajectory = recorded
    _refuse_nul(run, path, line=line, part="run")
    problem = contradiction(run, trajectory)
    if problem is not None:
        raise BundleError(problem, file=path, line=line)


def _refuse_nul(value: Run | BatchHeader, path: Path, *, line: int, part: str) -> None:
    try:
        refuse_nul(value)
    except InputError as error:
        raise BundleError(error.rule, file=path, line=line, field=f"{part}.{error.field}") from None


def _put_trajectories(path: Path, store: ObjectStore) -> set[str]:
    """Store the trajectories of a bundle that are not there, and return the digests of all."""
    return {digest for chunk in _chunks(_trajectories(path)) for digest in put_blobs(store, chunk)}


def _trajectories(path: Path) -> Iterator[bytes]:
    for recorded in recorded_runs(path):
        if recorded.trajectory is not None:
            yield trajectory_bytes(recorded.trajectory)


def _chunks(trajectories: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size_bytes = 0
    for data in trajectories:
        chunk.append(data)
        size_bytes += len(data)
        if size_bytes >= CHUNK_BYTES or len(chunk) == CHUNK_TRAJECTORIES:
            yield chunk
            chunk, size_bytes = [], 0
    if chunk:
        yield chunk


def _audit_entry(batch: Batch, path: Path, *, actor: str, now: datetime) -> AuditEntry:
    return AuditEntry(
        actor=actor,
        action=ACTION,
        subject=batch.id,
        new_value={
            "file": str(path).encode("utf-8", "replace").decode(),
            "content_digest": batch.content_digest,
            "runs": batch.run_count,
        },
        happened_at=now,
    )
