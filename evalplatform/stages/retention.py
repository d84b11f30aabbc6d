"""Retention: old batches are compacted and then expire, and trajectories go that no run names any more.

What a batch's removal leaves to be done in the object store is written down there before its rows go. So a kill anywhere leaves a batch as
it was, or as it is to be with a note of the trajectories to look at, which the next retention goes on with.
"""

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.monitoring.retention import (
    RetentionStep,
    retention_plan,
)
from evalplatform.ports.monitoring import MonitoringStore
from evalplatform.project.schema import RetentionSettings
from evalplatform.runs.records import Retention, UtcMoment
from evalplatform.stages.runs_context import RunsContext

COMPACT, EXPIRE = "batches.compact", "batches.expire"
NOTES_FOLDER = "retention"
TRAJECTORIES_AT_ONCE = 200  # that writers wait for


class RetainedBatch(Value):
    """A batch that its age would change: what becomes of it, and how many of its runs stay and go. Where nothing does, none is counted."""

    step: RetentionStep
    kept_runs: int | None = Field(default=None, ge=0)
    removed_runs: int | None = Field(default=None, ge=0)


class RetentionOutcome(Value):
    """What a retention did, or would do.

    Attributes:
        decided_at: the time that ages were taken at.
        settings: by which ages.
        is_dry_run: whether nothing was changed.
        batches: those that change, and those that their age would change and something holds, newest first.
        states: how many batches of the project are whole, compacted and expired after it.
        removed_trajectories: how many went, those of a retention that was killed included; None in a dry run.
    """

    decided_at: UtcMoment
    settings: RetentionSettings
    is_dry_run: bool
    batches: tuple[RetainedBatch, ...]
    states: dict[Retention, int]
    removed_trajectories: int | None

    @property
    def changed(self) -> tuple[RetainedBatch, ...]:
        """The batches that lose runs."""
        return tuple(batch for batch in self.batches if batch.step.changes)

    @property
    def held(self) -> tuple[RetainedBatch, ...]:
        """The batches that keep more than their age would leave."""
        return tuple(batch for batch in self.batches if batch.step.holder is not None)


def retain_runs(context: RunsContext, monitoring: MonitoringStore, *, actor: str, dry_run: bool = False) -> RetentionOutcome:
    """Compact and expire the project's batches by its retention settings; without such settings nothing is changed.

    What needs a batch is looked at again just before its runs go. Two retentions at once are safe: of each batch one does it.

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
    needs = _Needs(context, monitoring)
    removed = 0 if dry_run else _go_on(context)
    found: list[RetainedBatch] = []
    states: dict[Retention, int] = {"whole": 0, "compacted": 0, "expired": 0}
    for batch in context.batches.batches():
        (step,) = retention_plan([batch], needs.now(), settings=settings, now=now)
        if step.changes:
            retained, gone = _retained(context, step, needs.now().pinned_runs(batch.id), actor=None if dry_run else actor)
            found.append(retained)
            removed += gone
        elif step.holder is not None:
            found.append(RetainedBatch(step=step))
        states[step.after] += 1
    return RetentionOutcome(
        decided_at=now,
        settings=settings,
        is_dry_run=dry_run,
        batches=tuple(found),
        states=states,
        removed_trajectories=None if dry_run else removed,
    )
