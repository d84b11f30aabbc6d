"""How much each benchmark does: the sizes the bounds are stated for, and small ones that only show that everything works."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """`questions` are answered and judged once each; `large_questions` make the large artifact, and half as many its comparison.

    `scores` are written, read and summed up, and half as many. `partitions` are judged by a new judge.
    `registered` partitions have been made and are looked at, and a tenth of them.
    `compared_questions` are in each of four runs that are compared, and twice as many.
    `compared_scenarios` are in each of two batches that are compared, and in one that is pushed; and half as many.
    `gate_scenarios` are in a gate, of `flag_table_runs` a side, and then of as many different run counts.

    `compiles_first`: measured processes find all modules compiled, as after a first run, even where the environment keeps Python from
    writing compiled modules. Compiling takes longer than all small benchmarks together, so they do without.
    """

    questions: int
    concurrency: int
    latency_seconds: float
    large_questions: int
    scores: int
    partitions: int
    registered: int
    compared_questions: int
    compared_scenarios: int
    gate_scenarios: int
    flag_table_runs: int
    repeats: int
    compiles_first: bool


FULL = Size(
    questions=1_000,
    concurrency=64,
    latency_seconds=0.05,
    large_questions=10_000,
    scores=1_000_000,
    partitions=200,
    registered=10_000,
    compared_questions=4_000,
    compared_scenarios=10_000,
    gate_scenarios=1_000,
    flag_table_runs=50,
    repeats=5,
    compiles_first=True,
)
SMALL = Size(
    questions=40,
    concurrency=8,
    latency_seconds=0.005,
    large_questions=60,
    scores=200,
    partitions=3,
    registered=200,
    compared_questions=60,
    compared_scenarios=100,
    gate_scenarios=30,
    flag_table_runs=10,
    repeats=1,
    compiles_first=False,
)
