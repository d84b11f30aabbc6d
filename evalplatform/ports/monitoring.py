"""The monitoring store port: schedules, nights with their alerts, and the stored header values that are re-encrypted when keys rotate."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.night import Alert, Night, NightSource
from evalplatform.runs.schedule import Schedule


class ProjectSchedule(NamedTuple):
    """A schedule of one of the tenant's projects."""

    project: str
    schedule: Schedule


CheckTenant = Callable[[Sequence[ProjectSchedule]], None]
"""Refuses, by raising, what does not fit beside the tenant's schedules as they are stored."""


class BegunNight(NamedTuple):
    """A night as it is stored, and whether it is the caller's to run."""

    night: Night
    is_ours: bool


class MonitoringStore(Protocol):
    """The schedules and nights of one project of one tenant. Safe for concurrent writers, across processes too."""

    def schedule(self, schedule_id: str) -> Schedule | None:
        """Return a schedule, or None."""
        ...

    def schedules(self) -> tuple[Schedule, ...]:
        """Return the project's schedules, by id."""
        ...

    def tenant_schedules(self) -> tuple[ProjectSchedule, ...]:
        """Return the schedules of all of the tenant's projects in this database, by project, then id: the allowance spans them."""
        ...

    def save(self, schedule: Schedule, *, replaces: Schedule | None, entry: AuditEntry, check: CheckTenant | None = None) -> None:
        """Store a schedule, with the audit entry, in one transaction.

        Args:
            schedule: as it is to be.
            replaces: as it is; None for a new one.
            entry: who saves it.
            check: is given what the tenant has, in the same transaction, and stores nothing by raising. Of two who save at once with a
                check the second is given what the first one stored.

        Raises:
            InputError: another one than `replaces` is stored by now (None: one is there already), or a text holds a NUL.
            MonitoringError: baseline_not_pinned, where a batch keeps a run no more that is newly pinned.
            StorageUnavailableError: the store does not answer.
        """
        ...

    def remove(self, schedule_id: str, *, entry: AuditEntry) -> bool:
        """Remove a schedule, with the audit entry; its nights stay. Return whether there was one."""
        ...

    def begin(self, night: Night) -> BegunNight:
        """Store a pending night, or take one over: of one key there is one night.

        Args:
            night: pending. A later attempt takes a night over from an earlier one that was left pending, and fences it off.

        Returns:
            The given night, as the caller's, where it was stored; another one, not the caller's, where one of this attempt or a later
            one, or a finished one, is there already.
        """
        ...

    def record(self, night: Night) -> Night:
        """Store a night that is finished from the start, such as a missed slot; where one of its key is there, return that unchanged."""
        ...

    def finish(self, night: Night) -> bool:
        """Store the end of a pending night. Return False, changing nothing, where it is not pending or another attempt has it."""
        ...

    def night(self, key: str) -> Night | None:
        """Return the night of that key, or None."""
        ...

    def nights(
        self,
        *,
        source: NightSource | None = None,
        stream: str | None = None,
        since: datetime | None = None,
        before: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[Night]:
        """Iterate over the nights, newest slot first (then by key): slots at `since` or later, earlier than `before`, at most `limit`."""
        ...

    def pending(self) -> tuple[Night, ...]:
        """Return the nights that have not ended, oldest slot first."""
        ...

    def open_alerts(self) -> tuple[Night, ...]:
        """Return the nights of which an alert is still to be delivered, oldest slot first."""
        ...

    def replace_alert(self, key: str, *, old: Alert, new: Alert) -> bool:
        """Put a night's alert in place of `old`; False, changing nothing, where it is another by now: somebody else is at it."""
        ...

    def reseal_headers(self, reseal: Callable[[str], str], *, entry: AuditEntry) -> int:
        """Put every stored header value of the database, of all projects and tenants, through `reseal`, in one transaction.

        The audit entry stands in the project that this store is of.

        Returns:
            How many there were. Whatever `reseal` raises leaves all of them as they were.
        """
        ...

    def close(self) -> None:
        """Close; calling it twice is fine."""
        ...
