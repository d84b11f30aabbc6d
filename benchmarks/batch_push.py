"""A bundle pushed into the stores of one machine: its trajectories as files, its rows into SQLite; and pushed again, which stores nothing.

Each push is a process of its own. Every trajectory is another one, each a file that is flushed to the disk, which is most of what a push
takes. Time and peak memory stand beside those of half as many scenarios: what is kept of a run while its bundle is read is its id alone.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure, ratio_figure
from benchmarks.processes import Measured, measured
from benchmarks.workload import Workload
from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.adapters.stores.open import open_store
from evalplatform.runs.bundle import new_bundle
from evalplatform.runs.records import AssertionResult, BatchHeader, PlannedScenario, Run
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep, Trajectory, trajectory_digest
from evalplatform.stages.push import push_bundle

RUNS = 4
ALLOWED_TIME_RATIO = 2.3
ALLOWED_PEAK_RATIO = 1.3
PROJECT = "bench"
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
RESULT_CHARS = 200


def figures(workload: Workload) -> list[Figure]:
    """Return the push's time and peak memory against half as many scenarios, and what pushing again takes."""
    scenarios = workload.size.compared_scenarios
    whole, half = (_bundle(workload, number) for number in (scenarios, scenarios // 2))
    pushed, pushed_half = _step(workload, "push", whole), _step(workload, "push", half)
    again = _step(workload, "push", whole)
    name = f"push, {scenarios:,} scenarios x {RUNS} runs"
    cpu, half_cpu = [pushed.cpu_seconds], [pushed_half.cpu_seconds]
    return [
        Figure(f"{name}, wall", pushed.wall_seconds, "s", detail=f"{pushed.cpu_seconds:.1f} CPU s; again {again.wall_seconds:.1f} s"),
        ratio_figure(f"{name}, CPU to half as many", cpu, half_cpu, unit="CPU s", allowed=ALLOWED_TIME_RATIO),
        ratio_figure(
            f"{name}, peak memory to half as many", [pushed.peak_mib], [pushed_half.peak_mib], unit="MiB", allowed=ALLOWED_PEAK_RATIO
        ),
    ]


def _bundle(workload: Workload, scenarios: int) -> Path:
    file = workload.folder / f"push-{scenarios}.jsonl"
    measured((sys.executable, "-m", "benchmarks.batch_push", "write", str(file), str(scenarios)), bytecode=workload.bytecode)
    return file


def _step(workload: Workload, step: str, file: Path) -> Measured:
    return measured((sys.executable, "-m", "benchmarks.batch_push", step, str(file)), bytecode=workload.bytecode)


def main() -> None:
    """Write a bundle, or push one into stores beside it."""
    step, file, *more = sys.argv[1:]
    if step == "write":
        write(Path(file), int(more[0]))
    else:
        push(Path(file))


def write(file: Path, scenarios: int) -> None:
    """Write a bundle of so many scenarios."""
    planned = {f"scenario-{number:06d}": PlannedScenario(planned_runs=RUNS) for number in range(scenarios)}
    header = BatchHeader(project=PROJECT, agent="bench", judge="structural", recorded_at=NOW, scenarios=planned)
    with new_bundle(file, header, syncs_each_run=False) as bundle:
        for scenario_id in planned:
            for order in range(RUNS):
                trajectory = _trajectory(scenario_id, order)
                bundle.add(_run(scenario_id, order, trajectory), trajectory)
        bundle.finish()


def push(file: Path) -> None:
    """Push a bundle."""
    batches = open_batch_store(f"sqlite:///{file.with_suffix('.db')}", project=PROJECT, tenant="default")
    store = open_store(str(file.with_suffix(".store")))
    push_bundle(file, project=PROJECT, tenant="default", batches=batches, store=store, actor="bench", now=NOW)
    batches.close()


def _trajectory(scenario_id: str, order: int) -> Trajectory:
    calls = (
        step
        for number, tool in enumerate(("get_order", "list_refunds", "issue_refund", "send_message"))
        for step in (
            ToolCallStep(call_id=f"c{number}", tool=tool, arguments_text=f'{{"order": {order}}}'),
            ToolResultStep(call_id=f"c{number}", tool=tool, text="x" * RESULT_CHARS),
        )
    )
    return Trajectory(steps=(MessageStep(role="user", text=scenario_id), *calls, MessageStep(role="assistant", text="Done.")))


def _run(scenario_id: str, order: int, trajectory: Trajectory) -> Run:
    return Run(
        scenario_id=scenario_id,
        order=order,
        created_at=NOW,
        outcome="passed",
        score_points=100,
        assertions=tuple(AssertionResult(assertion=name, state="passed") for name in ("tool_called", "call_order", "final_text")),
        violations=(),
        trajectory_digest=trajectory_digest(trajectory),
        tools=trajectory.tools,
        step_count=len(trajectory.steps),
    )


if __name__ == "__main__":
    main()
