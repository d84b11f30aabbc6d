"""A new judge over many answered cells: a Dagster backfill, in one process and through the daemon, against the same stages without Dagster.

The judge counts facts and asks no model, so nothing is waited for: the ratio is what Dagster costs at the worst.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.processes import EVALPLATFORM, Measured, measured
from benchmarks.workload import SUITE, Workload
from evalplatform.project.load import load_project
from evalplatform.stages.arm_answers import materialize_arm_answers
from evalplatform.stages.comparison_stages import suite_comparisons
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import materialize_corpus
from evalplatform.stages.question_set import materialize_question_set
from evalplatform.stages.score_stages import stages_of
from evalplatform.wiring import OpenedProject

QUESTIONS = 8
JUDGE = "facts"
ALLOWED_RATIO = 8.0
"""Measured 5.5: recording four assets and their checks in Dagster takes 0.28 s a partition, the stages of an offline judge 0.06 s."""
POLL_SECONDS = 0.5

PROJECT_FILE = """\
version: 1
project: backfill
endpoints:
  offline: {{provider: offline}}
cells:
{cells}
judges:
  facts: {{kind: overlap, model: overlap, endpoint: offline}}
products:
  bench: {{}}
suites:
  bench:
    product: bench
    questions: questions.json
    arms: [baseline, "docs:local:docs"]
    cells: [{names}]
    judges: [facts]
"""


def figures(workload: Workload) -> list[Figure]:
    """Return the ratios of both backfills to the same stages in one process, wall for wall."""
    partitions = workload.size.partitions
    answered = _answered_project(workload.folder / "backfill", partitions)
    program = (sys.executable, "-m", "benchmarks.backfill")
    plain = _run(workload, answered, "plain", (*program, "plain"))
    here = _run(workload, answered, "here", (*EVALPLATFORM, "backfill", "--judge", JUDGE, "--project"))
    daemon = _run(workload, answered, "daemon", (*program, "daemon"))
    name = f"backfill of {partitions} partitions"
    return [
        Figure(f"{name}, to one process", here.wall_seconds / plain.wall_seconds, "x", ALLOWED_RATIO, _against(here, plain)),
        Figure(f"{name}, through the daemon", daemon.wall_seconds / plain.wall_seconds, "x", detail=_against(daemon, plain)),
    ]


def _against(run: Measured, plain: Measured) -> str:
    return f"{run.wall_seconds:.1f} s against {plain.wall_seconds:.1f}; CPU {run.cpu_seconds:.1f} s against {plain.cpu_seconds:.1f}"


def _run(workload: Workload, answered: Path, name: str, command: tuple[str, ...]) -> Measured:
    """Run a command on a copy of the answered project, which it is given as its last argument."""
    folder = answered.with_name(f"backfill-{name}")
    shutil.copytree(answered, folder)
    return measured((*command, str(folder)), bytecode=workload.bytecode)


def _answered_project(folder: Path, partitions: int) -> Path:
    """Write a project whose cells have answered, and that nobody has judged."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "retries.md").write_text("# Retries\n\nThe pipeline waits between tries and doubles the wait.\n")
    questions = [
        {
            "id": f"q{number}",
            "question": f"What does the pipeline do between tries at step {number}?",
            "expected_facts": ["waits between tries"],
        }
        for number in range(QUESTIONS)
    ]
    (folder / "questions.json").write_text(json.dumps(questions))
    names = [f"c{number:04d}" for number in range(partitions)]
    cells = "\n".join(
        f"  {name}: {{model: extractive, endpoint: offline, sampling: {{max_tokens: {number + 1}}}}}" for number, name in enumerate(names)
    )
    (folder / "evalplatform.yaml").write_text(PROJECT_FILE.format(cells=cells, names=", ".join(names)))
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        context = opened.suite_context(SUITE)
        materialize_question_set(context)
        materialize_corpus(context)
        asyncio.run(_answer(context))
    return folder


async def _answer(context: SuiteContext) -> None:
    for cell in context.project.cells_of(SUITE):
        await materialize_arm_answers(context, cell)


def main() -> None:
    """Judge every cell of a project, in one of the ways that are compared."""
    way, folder = sys.argv[1:]
    {"plain": judge_plainly, "daemon": judge_through_daemon}[way](Path(folder))


def judge_plainly(folder: Path) -> None:
    """Run the stages cell by cell."""
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        context = opened.suite_context(SUITE)
        judge = context.project.judge(JUDGE)
        for cell in context.project.cells_of(SUITE):
            for stage in stages_of(context.suite, judge):
                stage.materialize(context, cell, judge)
        for comparison in suite_comparisons(context):
            comparison.stage.materialize(context, comparison.cell, comparison.judge)


def judge_through_daemon(folder: Path) -> None:
    """Hand a backfill to a daemon, and wait until it is done."""
    import dagster as dg
    from dagster._core.execution.backfill import BulkActionStatus

    from evalplatform.cli.main import exit_code

    if exit_code(["backfill", "--judge", JUDGE, "--submit", "--project", str(folder)]) != 0:
        raise RuntimeError("the backfill was not taken")
    home = folder / ".evalplatform" / "dagster"
    environment = {**os.environ, "DAGSTER_HOME": str(home), "EVALPLATFORM_PROJECT": str(folder)}
    command = [sys.executable, "-m", "dagster._daemon", "run", "-m", "evalplatform.definitions"]
    with dg.DagsterInstance.from_config(str(home)) as instance, (folder / "daemon.log").open("wb") as log:
        (requested,) = instance.get_backfills()
        status = requested.status
        with subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=subprocess.STDOUT) as daemon:
            while status is BulkActionStatus.REQUESTED:
                if daemon.poll() is not None:
                    raise RuntimeError(f"the daemon ended: {(folder / 'daemon.log').read_text()[-2000:]}")
                time.sleep(POLL_SECONDS)
                (found,) = instance.get_backfills()
                status = found.status
            daemon.terminate()
    if status is not BulkActionStatus.COMPLETED_SUCCESS:
        raise RuntimeError(f"the backfill ended as {status}")


if __name__ == "__main__":
    main()
