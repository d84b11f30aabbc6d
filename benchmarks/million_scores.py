"""Many scores of one partition: written as their stage writes them, read whole, and summed up with intervals and a delta.

Each step is a process of its own, so that its peak memory is its own; the time is told a score, and against that of half as many.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.processes import Measured, measured
from benchmarks.workload import Workload
from evalplatform.artifacts.parquet import ParquetRows
from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.kinds.rubric import WEIGHTS
from evalplatform.judging.records import Judgement
from evalplatform.kernel.usage import Usage
from evalplatform.stages.tables import SCORES, read_score_points

ARMS = ("baseline", "docs")
DRAWS = 5
STEPS = ("write", "read", "aggregate")
ALLOWED_TIME_RATIO = 2.3
ALLOWED_PEAK_MIB = {"write": 250.0, "read": 500.0, "aggregate": 300.0}


def figures(workload: Workload) -> list[Figure]:
    """Return peak memory and time a score of each step, and the ratio of all steps' times to those of half as many scores."""
    scores = workload.size.scores
    whole, half = _measured(workload, scores), _measured(workload, scores // 2)
    seconds, half_seconds = (sum(run.cpu_seconds for run in runs.values()) for runs in (whole, half))
    name = f"{scores:,} scores"
    return [
        *(
            Figure(f"{name}, {step}, peak memory", whole[step].peak_mib, "MiB", ALLOWED_PEAK_MIB[step], _took(whole[step], scores))
            for step in STEPS
        ),
        Figure(
            f"{name}, time to half as many",
            seconds / half_seconds,
            "x",
            ALLOWED_TIME_RATIO,
            f"{seconds:.1f} CPU s against {half_seconds:.1f}",
        ),
    ]


def _took(run: Measured, scores: int) -> str:
    return f"in {run.wall_seconds:.1f} s, {1e6 * run.cpu_seconds / scores:.0f} CPU microseconds a score"


def _measured(workload: Workload, scores: int) -> dict[str, Measured]:
    file = workload.folder / f"scores-{scores}.parquet"
    command = (sys.executable, "-m", "benchmarks.million_scores")
    return {step: measured((*command, step, str(file), str(scores)), bytecode=workload.bytecode) for step in STEPS}


def main() -> None:
    """Do one step on one file."""
    step, file, scores = sys.argv[1:]
    {"write": write, "read": read, "aggregate": aggregate}[step](Path(file), int(scores))


def write(file: Path, scores: int) -> None:
    """Write the scores, row after row."""
    with ParquetRows(file, SCORES.schema()) as table:
        table.write(SCORES.to_row(score) for score in _scores(scores))


def read(file: Path, scores: int) -> None:
    """Read every score whole, validated, one after the other."""
    if sum(1 for _ in SCORES.read(file.read_bytes())) != scores:
        raise RuntimeError("not every score came back")


def aggregate(file: Path, scores: int) -> None:
    """Sum the scores up: means with intervals, the paired delta with its tests."""
    summary = summarise_arms(
        arms=ARMS,
        baseline_arm=ARMS[0],
        question_ids=[_id(number) for number in range(scores // (len(ARMS) * DRAWS))],
        answers=(),
        scores=read_score_points(file.read_bytes()),
        draws=DRAWS,
    )
    if summary.coverage_rate != 1:
        raise RuntimeError("not every score was summed up")


def _id(number: int) -> str:
    return f"q{number:06d}"


def _scores(scores: int) -> Iterator[JudgedScore]:
    for number in range(scores // (len(ARMS) * DRAWS)):
        for index, arm in enumerate(ARMS):
            for draw in range(DRAWS):
                points = float((number * 37 + index * 11 + draw * 7) % 101)
                judgement = Judgement(
                    task_id=str((number * len(ARMS) + index) * DRAWS + draw),
                    points=points,
                    dimensions=dict.fromkeys(WEIGHTS, points),
                    raw_reply=f'{{"aggregate": {points}, "numeric_claims": [], "reasoning": "step {number} is described as it is"}}',
                    usage=Usage(prompt_tokens=900, completion_tokens=80, cache_read_tokens=0, reasoning_tokens=0),
                    cost_usd=0.0009,
                    calls=1,
                )
                yield JudgedScore(question_id=_id(number), arm=arm, draw=draw, judgement=judgement)


if __name__ == "__main__":
    main()
