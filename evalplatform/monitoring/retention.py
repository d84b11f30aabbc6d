"""Which stored batches keep all their runs, one of each scenario, or none: by age, and by what still needs them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Literal, NamedTuple

from pydantic import Field

from evalplatform.comparisons.batches.scenario_pairs import compared_run_of
from evalplatform.kernel.values import Value
from evalplatform.project.schema import RetentionSettings
from evalplatform.runs.night import Night
from evalplatform.runs.records import Batch, Retention, Run, UtcMoment
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.runs.schedule import Schedule

NIGHT_DAYS = 90
"""The legs of a night stay whole for so long after its slot, so that its drift can be computed again from them."""
DAY = timedelta(days=1)
RETENTIONS: tuple[Retention, ...] = ("whole", "compacted", "expired")
HolderKind = Literal["gate", "night", "schedule"]


class Holder(Value):
    """What keeps runs of a batch from going by age: a remembered gate or a night that names it, or a schedule with a pin in it."""

    kind: HolderKind
    name: str


class RetentionStep(Value):
    """What becomes of one batch.

    Attributes:
        batch_id, recorded_at: which.
        before: what it keeps now.
        due: what it would keep by its age alone.
        after: what it is to keep.
        holder: why that is more than its age would leave; None where nothing holds it.
    """

    batch_id: str
    recorded_at: UtcMoment
    before: Retention
    due: Retention
    after: Retention
    holder: Holder | None = None

    @property
    def changes(self) -> bool:
        """Whether runs of it are to go."""
        return self.after != self.before


class RetainedBatch(Value):
    """A batch that its age would change: what becomes of it, and how many of its runs stay and go; None where nothing does."""

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
        """The batches that stay as they are although they are old enough."""
        return tuple(batch for batch in self.batches if not batch.step.changes)


@dataclass(frozen=True)
class BatchNeeds:
    """What still needs the runs of batches, by batch id.

    Attributes:
        whole: what names a batch that has to stay as it is: one of them, where several do.
        pins: the schedules' pins, as run ids with the schedule that pins each.
    """

    whole: Mapping[str, Holder] = field(default_factory=dict)
    pins: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def pinned_runs(self, batch_id: str) -> frozenset[str]:
        """Return the ids of the runs of a batch that are pinned."""
        return frozenset(self.pins.get(batch_id, ()))


def batch_needs(*, gates: Iterable[RememberedGate], nights: Iterable[Night], schedules: Iterable[Schedule], now: datetime) -> BatchNeeds:
    """Return what still needs batches.

    Args:
        gates: all remembered gates: baseline, candidate and pinned history of each stay, whatever it came to.
        nights: nights; the legs of those with a slot in the last `NIGHT_DAYS` days stay.
        schedules: all schedules, paused ones too: their pinned runs stay.
        now: the time that ages are taken at.
    """
    whole: dict[str, Holder] = {}
    for gate in gates:
        report = gate.report
        for batch_id in (report.baseline, report.candidate, *(report.history or ())):
            whole.setdefault(batch_id, Holder(kind="gate", name=report.key))
    for night in nights:
        if night.slot.at <= now - NIGHT_DAYS * DAY:
            continue
        for leg in (night.replay_batch, night.live_batch):
            if leg is not None:
                whole.setdefault(leg, Holder(kind="night", name=night.key))
    pins: dict[str, dict[str, str]] = defaultdict(dict)
    for schedule in schedules:
        for pin in schedule.pins:
            pins[pin.batch_id].setdefault(pin.run_id, schedule.id)
    return BatchNeeds(whole=whole, pins=dict(pins))


def retention_step(batch: Batch, needs: BatchNeeds, *, settings: RetentionSettings, now: datetime) -> RetentionStep:
    """Return what becomes of a batch; without settings nothing becomes of any.

    A batch that a remembered gate or a recent night names stays as it is. One with a pinned run never expires: it is compacted where
    compacting is set, and the pinned run stays in it. Nothing is ever put back.
    """
    due = _due(batch, settings, now)
    after, holder = _held_back(batch, due, needs, settings)
    return RetentionStep(
        batch_id=batch.id, recorded_at=batch.header.recorded_at, before=batch.retention, due=due, after=after, holder=holder
    )


class PartedRuns(NamedTuple):
    """The runs of a batch, parted: the ids of those that stay, how many go, and which trajectories only those name."""

    kept: frozenset[str]
    removed: int
    trajectories: frozenset[str]


def parted_runs(runs: Iterable[Run], *, after: Retention, pinned: Collection[str]) -> PartedRuns:
    """Part the runs of a batch into those that stay and those that go.

    In a compacted batch stay, of each scenario, the run that comparisons take, and the pinned ones. A scenario of which no run was made
    keeps its last entry, which says why. In an expired batch stays none.

    Args:
        runs: of one batch, a scenario's together and in their order.
        after: what the batch is to keep.
        pinned: the ids of pinned runs.
    """
    kept: set[str] = set()
    removed = 0
    named: tuple[set[str], set[str]] = (set(), set())
    for _, group in groupby(runs, key=attrgetter("scenario_id")):
        of_scenario = tuple(group)
        compared = compared_run_of(of_scenario) or of_scenario[-1]
        for run in of_scenario:
            stays = after == "whole" or (after == "compacted" and (run is compared or bool(pinned and run.id in pinned)))
            if stays:
                kept.add(run.id)
            removed += not stays
            if run.trajectory_digest is not None:
                named[stays].add(run.trajectory_digest)
    return PartedRuns(frozenset(kept), removed, frozenset(named[False] - named[True]))


def _due(batch: Batch, settings: RetentionSettings, now: datetime) -> Retention:
    """Return what a batch keeps by its age: never more than it has now."""
    age = now - batch.header.recorded_at
    if settings.expire_after_days is not None and age >= settings.expire_after_days * DAY:
        return "expired"
    is_old = settings.compact_after_days is not None and age >= settings.compact_after_days * DAY
    return _lesser(batch.retention, "compacted" if is_old else "whole")


def _held_back(batch: Batch, due: Retention, needs: BatchNeeds, settings: RetentionSettings) -> tuple[Retention, Holder | None]:
    if due == batch.retention:
        return due, None
    holder = needs.whole.get(batch.id)
    if holder is not None:
        return batch.retention, holder
    pins = needs.pins.get(batch.id)
    if due == "expired" and pins:
        after: Retention = "whole" if settings.compact_after_days is None else "compacted"
        return _lesser(batch.retention, after), Holder(kind="schedule", name=min(pins.values()))
    return due, None


def _lesser(one: Retention, other: Retention) -> Retention:
    return max(one, other, key=RETENTIONS.index)
