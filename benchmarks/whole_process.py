"""The same calls as whole processes: `evalplatform arms run --judge`, artifacts and reports included, against the ideal's process.

Both start from compiled modules. The command reads the project, asks, judges, and writes Parquet tables, the summary, arms.v1, Markdown,
HTML with plots, and CSV.
"""

import sys

from benchmarks.figures import Figure, ratio_figure
from benchmarks.processes import EVALPLATFORM, Measured, measured
from benchmarks.workload import SUITE, Workload

ALLOWED_WALL_RATIO = 3.0


def figures(workload: Workload) -> list[Figure]:
    """Return the wall of the command as a ratio to the ideal process's."""
    _ideal(workload), _ours(workload, "warm")  # compiles the modules of both
    pairs = [(_ideal(workload), _ours(workload, f"whole-{repeat}")) for repeat in range(workload.size.repeats)]
    ideal, ours = zip(*pairs, strict=True)
    return [
        ratio_figure(
            "whole process, wall",
            [run.wall_seconds for run in ours],
            [run.wall_seconds for run in ideal],
            unit="s",
            allowed=ALLOWED_WALL_RATIO,
        )
    ]


def arms_run(workload: Workload, state: str) -> Measured:
    """Run the command with its state in a folder of that name."""
    command = (*EVALPLATFORM, "arms", "run", "--suite", SUITE, "--judge", "--project", f"{state}/evalplatform.yaml")
    folder = workload.folder / state
    if not folder.exists():
        folder.mkdir()
        for name in ("evalplatform.yaml", "questions.json"):
            (folder / name).write_bytes((workload.folder / name).read_bytes())
    return measured(command, bytecode=workload.bytecode, folder=workload.folder)


def _ideal(workload: Workload) -> Measured:
    bodies = (str(workload.answer_bodies), str(workload.judge_bodies))
    command = (sys.executable, "-m", "benchmarks.ideal", workload.server.url, str(workload.size.concurrency), *bodies)
    return measured(command, bytecode=workload.bytecode)


def _ours(workload: Workload, state: str) -> Measured:
    run = arms_run(workload, state)
    if f"{2 * workload.size.questions:,} model calls" not in run.output:
        raise RuntimeError(f"the command did not make the calls that it is measured by:\n{run.output}")
    return run
