"""Bundles as files, and a push that dies on the way."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.adapters.batches.sql import SqlBatchStore
from evalplatform.adapters.stores.open import open_store
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.batches import AddedBatch
from evalplatform.ports.object_store import ObjectStore
from evalplatform.runs.bundle import new_bundle
from evalplatform.runs.records import PlannedScenario, Run
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep, Trajectory, trajectory_digest
from evalplatform.stages.push import push_bundle
from tests.support.recorded_batches import NOW, recorded


def trajectory_of(run: Run) -> Trajectory:
    """What the run of a written bundle did: no two runs the same."""
    return Trajectory(
        steps=(
            MessageStep(role="user", text=f"{run.scenario_id}, please ✓\x00"),
            ToolCallStep(call_id="c1", tool="lookup", arguments_text=f'{{"order": {run.order}}}'),
            ToolResultStep(call_id="c1", tool="lookup", text="found"),
            MessageStep(role="assistant", text="done"),
        )
    )


def with_trajectory(run: Run) -> Run:
    """The run with what it says of its trajectory; one that could not run has none."""
    if run.verdict is None:
        return run
    trajectory = trajectory_of(run)
    return run.with_changes(trajectory_digest=trajectory_digest(trajectory), tools=trajectory.tools, step_count=len(trajectory.steps))


def write_bundle(
    path: Path,
    scenarios: dict[str, str],
    *,
    finished: bool = True,
    truncated_reason: str | None = None,
    declared: dict[str, PlannedScenario] | None = None,
    **header: Any,
) -> Path:
    """Write a bundle of the runs whose outcomes the letters say, as `recorded_batches.recorded` reads them; `declared` of the scenarios."""
    summary = recorded(scenarios, **header)
    begun = summary.header if declared is None else summary.header.with_changes(scenarios=declared)
    with new_bundle(path, begun) as bundle:
        for run in summary.runs:
            made = with_trajectory(run)
            bundle.add(made, trajectory_of(run) if made.trajectory_digest else None)
        if finished:
            bundle.finish(truncated_reason=truncated_reason)
    return path


@dataclass
class Dying:
    """Both stores, real ones, in a process that is killed at a point: `put:N` (before trajectory N), `row:N`, `end` or `committed`."""

    store: ObjectStore
    batches: SqlBatchStore
    point: str
    puts: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store if hasattr(self.store, name) else self.batches, name)

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        self._here(f"put:{self.puts}")
        self.puts += 1
        self.store.put(key, data, if_absent=if_absent)

    def add(self, batch: Any, runs: Iterable[Run], *, entry: AuditEntry) -> AddedBatch:
        added = self.batches.add(batch, self._counted(runs), entry=entry)
        self._here("committed")
        return added

    def _counted(self, runs: Iterable[Run]) -> Iterator[Run]:
        for number, run in enumerate(runs):
            self._here(f"row:{number}")
            yield run
        self._here("end")

    def _here(self, point: str) -> None:
        if point == self.point:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    bundle_path, database, folder, dies_at = sys.argv[1:]
    dying = Dying(open_store(folder), open_batch_store(database, project="probe", tenant="default"), dies_at)
    push_bundle(Path(bundle_path), project="probe", tenant="default", batches=dying, store=dying, actor="ana", now=NOW)
