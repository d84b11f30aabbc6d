"""The run loop against the ideal: imports done, the ledger on its default database, everything else as in a run.

1,000 questions, an answer and a rubric judgement each, 64 at once, over HTTP to a server that takes 50 ms. Both sides make the same calls
in two stages, which each ramp down at their end. Wall and CPU seconds are this process's own; the server has its own process.
"""

import asyncio
import gc
import time
from collections.abc import Callable

from benchmarks.figures import Figure, ratio_figure
from benchmarks.ideal import make_calls
from benchmarks.workload import SUITE, Workload, answer_and_judge
from evalplatform.questions.read import read_question_set
from evalplatform.wiring import OpenedProject

ALLOWED_WALL_RATIO = 1.5
ALLOWED_CPU_RATIO = 6.0

Seconds = tuple[float, float]


def figures(workload: Workload) -> list[Figure]:
    """Return wall and CPU of the run loop, each as a ratio to the ideal's."""
    pairs = [(_ideal(workload), _ours(workload, repeat)) for repeat in range(workload.size.repeats)]
    _check_same_calls(workload)
    (ideal_wall, ideal_cpu), (wall, cpu) = (tuple(zip(*side, strict=True)) for side in zip(*pairs, strict=True))
    return [
        ratio_figure("run loop, wall", wall, ideal_wall, unit="s", allowed=ALLOWED_WALL_RATIO),
        ratio_figure("run loop, CPU", cpu, ideal_cpu, unit="CPU s", allowed=ALLOWED_CPU_RATIO),
    ]


def _ideal(workload: Workload) -> Seconds:
    stages = workload.stages
    return _timed(lambda: asyncio.run(make_calls(workload.server.url, stages, concurrency=workload.size.concurrency)))


def _ours(workload: Workload, repeat: int) -> Seconds:
    with OpenedProject(workload.project(f"run-loop-{repeat}")) as opened:
        context = opened.suite_context(SUITE)
        questions = read_question_set(workload.folder / context.suite.questions)
        assert opened.ledger is not None  # opened, and its database made, before the clock starts
        return _timed(lambda: asyncio.run(answer_and_judge(context, questions)))


def _timed(work: Callable[[], object]) -> Seconds:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _check_same_calls(workload: Workload) -> None:
    """Raise unless the server has seen every request body equally often: once in the recording, once from either side of each pair."""
    counts = workload.server.requests_by_body()
    wanted = 1 + 2 * workload.size.repeats
    if len(counts) != 2 * workload.size.questions or set(counts.values()) != {wanted}:
        raise RuntimeError("the ideal did not make the same calls, so the ratios mean nothing")
