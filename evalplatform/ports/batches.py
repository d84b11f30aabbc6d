"""The batch store port: recorded batches and their runs."""

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Protocol

from evalplatform.kernel.values import Value
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.records import Batch, Run


class AddedBatch(Value):
    """A stored batch, and whether it was there already: the same content pushed again."""

    batch: Batch
    already_there: bool


class BatchStore(Protocol):
    """The batches of one project of one tenant. Safe for concurrent writers, across processes too.

    Trajectories lie in the blob store, by digest.
    """

    def add(self, batch: Batch, runs: Iterable[Run], *, entry: AuditEntry) -> AddedBatch:
        """Add a batch with all its runs and the audit entry in one transaction, or nothing; the same content again is one batch.

        Args:
            batch: what its runs make.
            runs: in any order; read once, and not at all where the batch is there already.
            entry: who adds it; kept only where it is added.

        Raises:
            InputError: the batch is of another project or tenant, its runs are not those of its counts and digest, or a text holds a NUL.
            StorageUnavailableError: the store does not answer; adding again is safe.
        """
        ...

    def of_content(self, content_digest: str) -> Batch | None:
        """Return the batch of that content, or None where there is none."""
        ...

    def batch(self, batch_id: str) -> Batch:
        """Return one batch.

        Raises:
            UnknownNameError: no such batch in this project, with the nearest id; nor does one of another tenant exist here.
            InputError: it is a batch of another project of the tenant, which is named.
        """
        ...

    def batches(self, *, since: datetime | None = None, limit: int | None = None) -> Iterator[Batch]:
        """Iterate over the batches, newest first (by recorded time, then id): those recorded at `since` or later, at most `limit`."""
        ...

    def ids(self, *, with_legs: bool = True) -> tuple[str, ...]:
        """Return the ids of all batches, newest first as in `batches`, reading nothing else of them; without the legs of nights on wish."""
        ...

    def runs(self, batch_id: str) -> Iterator[Run]:
        """Iterate over a batch's runs in the order of scenario id (code points), then order; a page of them is in memory at a time."""
        ...

    def run(self, batch_id: str, run_id: str) -> Run:
        """Return one run of a batch.

        Raises:
            UnknownNameError: no such batch, or no such run in it.
            InputError: the batch is compacted or expired, and no such run is kept of it.
        """
        ...

    def compact(self, batch_id: str, *, keep: Collection[str], entry: AuditEntry) -> bool:
        """Remove the runs of a whole batch but those with the ids `keep`, and mark it compacted, with the audit entry, in one transaction.

        Its header, content digest and counts stay as they were recorded.

        Returns:
            Whether it was done; False, changing nothing, where the batch is whole no more, or a schedule pins another run of it by now.

        Raises:
            UnknownNameError: no such batch, or it has no run of an id to keep.
            InputError: it is a batch of another project.
            StorageUnavailableError: the store does not answer; trying again is safe.
        """
        ...

    def expire(self, batch_id: str, *, entry: AuditEntry) -> bool:
        """Remove all runs of a batch and mark it expired, with the audit entry, in one transaction. Returns and raises as `compact`."""
        ...

    def remove_unused(self, trajectory_digests: Collection[str], remove: Callable[[Collection[str]], None]) -> int:
        """Have trajectories removed that no run of the whole database names, of any project and tenant; return how many.

        No batch is added between the look and the removal. So what a batch names that is added later was removed before it was added, and
        whoever adds it finds that out by looking afterwards.

        Args:
            trajectory_digests: those in question, at most a few hundred: writers wait meanwhile.
            remove: is given those that nothing names, if any, and removes them from where they lie. What it raises ends this.

        Raises:
            StorageUnavailableError: the store does not answer; trying again is safe.
        """
        ...

    def close(self) -> None:
        """Close; calling it twice is fine."""
        ...
