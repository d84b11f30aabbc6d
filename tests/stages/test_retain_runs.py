"""Taking runs out of old batches: what goes, what a gate, a night or a schedule holds, and what a kill or a push beside it leaves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from evalplatform.adapters.batches.sql import SqlBatchStore
from evalplatform.artifacts.blobs import blob_key
from evalplatform.kernel.errors import StorageUnavailableError
from evalplatform.monitoring.retention import RetentionOutcome
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.batches import AddedBatch
from evalplatform.ports.object_store import ObjectStore
from evalplatform.runs.night import Night, Slot
from evalplatform.runs.records import Batch, Run
from evalplatform.runs.remembered_gate import GateReport
from evalplatform.runs.schedule import Pin, Schedule
from evalplatform.stages.push import push_bundle
from evalplatform.stages.remember_gate import remember_gate
from evalplatform.stages.retention import NOTES_FOLDER, retain_runs
from evalplatform.wiring import OpenedProject
from tests.support.bundle_files import write_bundle
from tests.support.recorded_batches import NOW
from tests.support.runs_project import RunsProject

RULE = "retention:\n  compact_after_days: 30\n  expire_after_days: 90\n"
SAVED = AuditEntry(actor="ana", action="schedules.save", subject="nightly", happened_at=NOW)


@pytest.fixture
def project(tmp_path: Path) -> RunsProject:
    made = RunsProject.written_to(tmp_path / "project")
    made.file.write_text(f"version: 1\nproject: probe\n{RULE}")
    return made


@pytest.fixture
def opened(project: RunsProject) -> Iterator[OpenedProject]:
    with project.opened() as opened:
        yield opened


def pushed(opened: OpenedProject, days_ago: float, scenarios: dict[str, str], **header: Any) -> Batch:
    """Store a batch of that age by the clock of this machine; no two runs of it share a trajectory, but batches of one shape do."""
    age_days = (NOW - opened.clock.now()).total_seconds() / 86_400 + days_ago
    path = opened.project.root / f"{days_ago}.jsonl"
    path.unlink(missing_ok=True)
    write_bundle(path, scenarios, days_ago=age_days, commit=f"c{days_ago}", **header)
    return push(opened, path).batch


def push(opened: OpenedProject, path: Path, *, batches: Any = None, store: Any = None) -> AddedBatch:
    return push_bundle(
        path,
        project="probe",
        tenant="default",
        batches=batches or opened.batch_store,
        store=store or opened.store,
        actor="ana",
        now=opened.clock.now(),
    )


def retained(opened: OpenedProject, *, dry_run: bool = False) -> RetentionOutcome:
    return retain_runs(opened.runs_context(), opened.monitoring_store, actor="daily", dry_run=dry_run)


def letters(opened: OpenedProject, batch: Batch) -> str:
    return "".join(run.outcome[0] for run in opened.batch_store.runs(batch.id))


def trajectories(opened: OpenedProject) -> set[str]:
    return {info.key for info in opened.store.list("blobs/")}


def named_trajectories(opened: OpenedProject) -> set[str]:
    stores = opened.batch_store
    return {blob_key(run.trajectory_digest) for name in stores.ids() for run in stores.runs(name) if run.trajectory_digest is not None}


def test_old_batches_are_compacted_older_ones_expire_and_their_trajectories_go(opened: OpenedProject) -> None:
    young = pushed(opened, 29, {"young": "PPF"})
    old = pushed(opened, 31, {"old": "PFP", "b": "FH"})
    oldest = pushed(opened, 91, {"oldest": "PF"})
    before = trajectories(opened)
    outcome = retained(opened)
    assert [(one.step.batch_id, one.step.after, one.kept_runs, one.removed_runs) for one in outcome.changed] == [
        (old.id, "compacted", 2, 3),
        (oldest.id, "expired", 0, 2),
    ]
    assert [letters(opened, batch) for batch in (young, old, oldest)] == ["ppf", "hp", ""]
    assert outcome.states == {"whole": 1, "compacted": 1, "expired": 1}
    assert trajectories(opened) == named_trajectories(opened)
    assert outcome.removed_trajectories == len(before) - len(trajectories(opened)) == 5
    assert list(opened.store.list(NOTES_FOLDER)) == []
    again = retained(opened)
    assert (again.batches, again.removed_trajectories, again.states) == ((), 0, outcome.states)


def test_a_dry_run_says_the_same_and_changes_nothing(opened: OpenedProject) -> None:
    pushed(opened, 31, {"old": "PFP"})
    pushed(opened, 91, {"oldest": "PF"})
    stored = (list(opened.batch_store.batches()), trajectories(opened))
    planned = retained(opened, dry_run=True)
    assert (list(opened.batch_store.batches()), trajectories(opened)) == stored
    assert planned.removed_trajectories is None
    done = retained(opened)
    assert (planned.batches, planned.states) == (done.batches, done.states)


def test_without_a_retention_block_every_run_is_kept(project: RunsProject) -> None:
    project.file.write_text("version: 1\nproject: probe\n")
    with project.opened() as opened:
        batch = pushed(opened, 900, {"old": "PF"})
        assert retained(opened).batches == ()
        assert letters(opened, batch) == "pf"


def test_a_batch_with_one_run_of_each_scenario_has_nothing_to_lose_and_stays_whole_until_it_expires(opened: OpenedProject) -> None:
    single, oldest = pushed(opened, 31, {"a": "P", "b": "F"}), pushed(opened, 91, {"c": "P"})
    assert [one.step.batch_id for one in retained(opened, dry_run=True).batches] == [oldest.id]
    outcome = retained(opened)
    assert [(one.step.batch_id, one.step.after) for one in outcome.batches] == [(oldest.id, "expired")]
    assert outcome.states == {"whole": 1, "compacted": 0, "expired": 1}
    assert opened.batch_store.batch(single.id) == single


def test_what_gates_and_recent_nights_name_stays_whole_and_says_why(opened: OpenedProject) -> None:
    baseline, candidate, history = (pushed(opened, days, {"gated": "PP"}) for days in (41, 40, 100))
    report = GateReport(key="k", baseline=baseline.id, candidate=candidate.id, history=(history.id,))
    remember_gate(opened.runs_context(), report, actor="ci")
    legs = [pushed(opened, days, {"leg": "PP"}, origin="night") for days in (45, 44, 95)]
    record_night(opened, 44, replay_batch=legs[0].id, live_batch=legs[1].id)
    record_night(opened, 95, live_batch=legs[2].id)
    outcome = retained(opened)
    assert {one.step.batch_id: (one.step.holder.kind, one.step.holder.name[:7]) for one in outcome.held if one.step.holder} == {
        baseline.id: ("gate", "k"),
        candidate.id: ("gate", "k"),
        history.id: ("gate", "k"),
        legs[0].id: ("night", "nightly"),
        legs[1].id: ("night", "nightly"),
    }
    assert [one.step.batch_id for one in outcome.changed] == [legs[2].id]
    assert letters(opened, history) == "pp"


def test_a_pinned_run_is_kept_as_long_as_its_schedule_is_there(opened: OpenedProject) -> None:
    batch = pushed(opened, 91, {"refund": "PPF", "cancel": "PP"})
    first = next(run for run in opened.batch_store.runs(batch.id) if run.scenario_id == "refund")
    pin(opened, batch, first)
    outcome = retained(opened)
    (kept,) = outcome.changed
    assert (kept.step.due, kept.step.after, kept.step.holder and kept.step.holder.name) == ("expired", "compacted", "nightly")
    assert letters(opened, batch) == "ppf"  # cancel's last, refund's pinned one and its last
    assert opened.batch_store.run(batch.id, first.id) == first
    assert blob_key(str(first.trajectory_digest)) in trajectories(opened)
    assert [one.step.batch_id for one in retained(opened).held] == [batch.id]
    opened.monitoring_store.remove("nightly", entry=SAVED)
    assert [one.step.after for one in retained(opened).changed] == ["expired"]
    assert trajectories(opened) == set()


def test_a_run_that_is_pinned_while_retention_is_under_way_is_kept(opened: OpenedProject) -> None:
    batch = pushed(opened, 91, {"refund": "PPF"})
    first = next(opened.batch_store.runs(batch.id))

    class PinsMeanwhile(Passing):
        def batches(self) -> Iterator[Batch]:
            for found in opened.batch_store.batches():
                pin(opened, batch, first)
                yield found

    context = replace(opened.runs_context(), batches=PinsMeanwhile(opened.batch_store))
    retain_runs(context, opened.monitoring_store, actor="daily")
    assert letters(opened, batch) == "pf"


@dataclass
class Passing:
    """A store that is another one but for what a subclass says."""

    inner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Dying(Passing):
    """A store of a process that is killed before its write number `left`, or just after it."""

    writes: "Writes"

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        return self.writes.counted(method) if name in ("put", "delete", "compact", "expire", "remove_unused") else method


@dataclass
class Writes:
    """Counts the writes of all stores of a process, which dies at one of them."""

    left: int
    is_done_first: bool

    def counted(self, method: Any) -> Any:
        def write(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0 and not self.is_done_first:
                raise Killed
            result = method(*arguments, **named)
            if self.left < 0:
                raise Killed
            return result

        return write


@pytest.mark.parametrize("is_done_first", [False, True], ids=["before", "after"])
def test_a_retention_that_is_killed_at_any_write_is_finished_by_the_next_one(opened: OpenedProject, is_done_first: bool) -> None:
    writes = 0
    while True:
        old = pushed(opened, 31 + writes, {f"old-{writes}-{is_done_first}": "PFP"})
        oldest = pushed(opened, 91 + writes, {f"oldest-{writes}-{is_done_first}": "P"})
        killed_after = Writes(writes, is_done_first)
        context = opened.runs_context()
        context = replace(context, batches=Dying(context.batches, killed_after), objects=Dying(context.objects, killed_after))
        try:
            retain_runs(context, opened.monitoring_store, actor="daily")
            break
        except Killed:
            whole = [batch for batch in opened.batch_store.batches() if batch.retention == "whole"]
            assert all(len(letters(opened, batch)) == batch.run_count for batch in whole)
            assert named_trajectories(opened) <= trajectories(opened), "no run lost its trajectory"
        retained(opened)
        assert (letters(opened, old), letters(opened, oldest)) == ("p", "")
        assert trajectories(opened) == named_trajectories(opened), "what the killed one left is gone as well"
        assert list(opened.store.list(NOTES_FOLDER)) == []
        writes += 1
    assert writes >= 10


def test_another_retention_at_the_same_time_leaves_no_trajectory_behind(opened: OpenedProject) -> None:
    pushed(opened, 31, {"refund": "PFP"})

    class GoneOnWith(Passing):
        """The other one takes the note of this one for that of a killed one, before any run has gone."""

        def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
            self.inner.put(key, data, if_absent=if_absent)
            other = replace(opened.runs_context(), batches=NoBatches(opened.batch_store))
            retain_runs(other, opened.monitoring_store, actor="other")
            assert list(opened.store.list(NOTES_FOLDER)) == []

    class NoBatches(Passing):
        def batches(self) -> Iterator[Batch]:
            return iter(())

    retain_runs(replace(opened.runs_context(), objects=GoneOnWith(opened.store)), opened.monitoring_store, actor="daily")
    assert len(trajectories(opened)) == 1
    assert trajectories(opened) == named_trajectories(opened)


class RetainedBeforeAdding(Passing):
    """A batch store of a push that retention overtakes: trajectories it has just found in the store are gone when its batch is added."""

    def __init__(self, inner: SqlBatchStore, retention: Any) -> None:
        super().__init__(inner)
        self.retention = retention

    def add(self, *arguments: Any, **named: Any) -> AddedBatch:
        self.retention()
        added: AddedBatch = self.inner.add(*arguments, **named)
        return added


def test_a_push_that_retention_overtakes_has_all_its_trajectories(opened: OpenedProject) -> None:
    pushed(opened, 91, {"refund": "PFP"})
    path = write_bundle(opened.project.root / "again.jsonl", {"refund": "PFP"}, commit="again", days_ago=-1)
    removed: list[int | None] = []
    batches = RetainedBeforeAdding(opened.batch_store, lambda: removed.append(retained(opened).removed_trajectories))
    added = push(opened, path, batches=batches)
    assert removed == [3]
    assert len(list(opened.batch_store.runs(added.batch.id))) == 3
    assert named_trajectories(opened) == trajectories(opened)


def test_a_store_that_does_not_answer_loses_nothing(opened: OpenedProject) -> None:
    batch = pushed(opened, 31, {"refund": "PFP"})

    class Away(Passing):
        def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
            raise StorageUnavailableError("the store does not answer.")

    objects: ObjectStore = Away(opened.store)
    with pytest.raises(StorageUnavailableError):
        retain_runs(replace(opened.runs_context(), objects=objects), opened.monitoring_store, actor="daily")
    assert letters(opened, batch) == "pfp"


def record_night(opened: OpenedProject, days_ago: float, **batches: str) -> None:
    at = opened.clock.now() - timedelta(days=days_ago)
    slot = Slot(at=at, local_date=at.date())
    opened.monitoring_store.record(Night(source="monitor", stream="nightly", slot=slot, state="checked_clean", **batches))


def pin(opened: OpenedProject, batch: Batch, run: Run) -> None:
    there = opened.monitoring_store.schedule("nightly")
    pinned = Pin(scenario_id=run.scenario_id, batch_id=batch.id, run_id=run.id, trajectory_digest=str(run.trajectory_digest))
    now = opened.clock.now()
    schedule = Schedule(
        id="nightly",
        pins=(pinned,),
        first_at=now,
        endpoint_url="https://agent.test",
        recipients=("ops@acme.test",),
        active_since=now,
        saved_by="ana",
        saved_at=now,
    )
    opened.monitoring_store.save(schedule, replaces=there, entry=SAVED)
