"""Two batches compared as they are streamed from the batch store, beside reading the same runs once.

Each step is a process of its own. Its CPU seconds are taken after the imports and after the two batches themselves are there, so that both
sides do the same reading; its peak memory is that of the whole process. A share of the scenarios changes and is kept by name, as in real
batches; memory beyond that must not grow with the scenarios.
"""

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.figures import Figure, ratio_figure
from benchmarks.processes import Measured, measured
from benchmarks.workload import Workload
from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.kernel.usage import Usage
from evalplatform.ports.audit import AuditEntry
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import AssertionResult, BatchHeader, Outcome, PlannedScenario, Run, Violation

RUNS = 4
ALLOWED_TO_READING = 3.0
ALLOWED_PEAK_RATIO = 1.2
PROJECT = "bench"
BEGUN = datetime(2026, 11, 30, 8, tzinfo=UTC)
TOOLS = ("get_order", "get_customer", "list_refunds", "issue_refund", "send_message")
CHANGED_IN, FLAKY_IN, BREACHING_IN = 50, 10, 20
"""One scenario in so many fails in the candidate, passes now and then in both, breaches a policy."""


def figures(workload: Workload) -> list[Figure]:
    """Return the comparison's time to that of reading, and its peak memory against that of half as many scenarios."""
    scenarios = workload.size.compared_scenarios
    whole, half = (_database(workload, number) for number in (scenarios, scenarios // 2))
    compared, read, halves = [], [], []
    for _ in range(workload.size.repeats):
        compared.append(_step(workload, "compare", whole))
        read.append(_step(workload, "read", whole))
        halves.append(_step(workload, "compare", half))
    seconds, reading = ([float(step.output.splitlines()[-1]) for step in steps] for steps in (compared, read))
    name = f"batches, {scenarios:,} scenarios x {RUNS} runs"
    peaks, half_peaks = ([step.peak_mib for step in steps] for steps in (compared, halves))
    return [
        ratio_figure(f"{name}, compared, to reading, CPU", seconds, reading, unit="CPU s", allowed=ALLOWED_TO_READING),
        ratio_figure(f"{name}, peak memory to half as many", peaks, half_peaks, unit="MiB", allowed=ALLOWED_PEAK_RATIO),
    ]


def _database(workload: Workload, scenarios: int) -> Path:
    file = workload.folder / f"batches-{scenarios}.db"
    measured((sys.executable, "-m", "benchmarks.batch_comparison", "write", str(file), str(scenarios)), bytecode=workload.bytecode)
    return file


def _step(workload: Workload, step: str, file: Path) -> Measured:
    return measured((sys.executable, "-m", "benchmarks.batch_comparison", step, str(file)), bytecode=workload.bytecode)


def main() -> None:
    """Do one step on one database; the last line of what reads is its CPU seconds."""
    step, file, *more = sys.argv[1:]
    if step == "write":
        write(Path(file), int(more[0]))
    else:
        print({"read": read, "compare": compare}[step](Path(file)))


def write(file: Path, scenarios: int) -> None:
    """Store a baseline and a candidate of so many scenarios."""
    store = open_batch_store(_url(file), project=PROJECT, tenant="default")
    planned = {_scenario_id(number): PlannedScenario(planned_runs=RUNS) for number in range(scenarios)}
    for place, commit in enumerate(("before", "after")):
        header = BatchHeader(
            project=PROJECT,
            commit=commit,
            agent="bench",
            judge="structural",
            recorded_at=BEGUN + timedelta(hours=place),
            scenarios=planned,
        )
        runs = tuple(_runs(scenarios, is_candidate=place == 1))
        batch = BundleSummary(header, runs, True, None).batch
        store.add(batch, runs, entry=AuditEntry(actor="bench", action="batch.push", subject=batch.id, happened_at=header.recorded_at))
    store.close()


def read(file: Path) -> float:
    """Return the CPU seconds of reading every run of both batches once."""
    candidate, baseline = _both(file)
    started = time.process_time()
    read_runs = sum(1 for side in (baseline, candidate) for _ in side.runs())
    seconds = time.process_time() - started
    if read_runs != RUNS * 2 * len(baseline.batch.header.scenarios):
        raise RuntimeError("not every run came back")
    return seconds


def compare(file: Path) -> float:
    """Return the CPU seconds of comparing both batches, with every row seen as it is made."""
    candidate, baseline = _both(file)
    rows = 0

    def seen(_: object) -> None:
        nonlocal rows
        rows += 1

    started = time.process_time()
    comparison = compare_batches(baseline, candidate, on_row=seen)
    seconds = time.process_time() - started
    if rows != len(baseline.batch.header.scenarios) or comparison.verdict != "regressed" or comparison.run_sets is None:
        raise RuntimeError("the batches were not compared")
    return seconds


def _both(file: Path) -> Iterator[BatchRuns]:
    """Iterate over the two batches, newest first."""
    store = open_batch_store(_url(file), project=PROJECT, tenant="default")
    for batch in list(store.batches()):
        yield BatchRuns(batch, partial(store.runs, batch.id))


def _runs(scenarios: int, *, is_candidate: bool) -> Iterator[Run]:
    random = Random(int(is_candidate))
    for number in range(scenarios):
        for order in range(RUNS):
            yield _run(number, order, random, is_candidate=is_candidate)


def _run(number: int, order: int, random: Random, *, is_candidate: bool) -> Run:
    fails = (is_candidate and number % CHANGED_IN == 0) or (number % FLAKY_IN == 1 and random.random() < 0.5)
    outcome: Outcome = "failed" if fails else "passed"
    return Run(
        scenario_id=_scenario_id(number),
        order=order,
        created_at=BEGUN + timedelta(seconds=number),
        outcome=outcome,
        reason="1 of 3 assertions failed" if fails else None,
        score_points=66.7 if fails else 100.0,
        assertions=tuple(
            AssertionResult(assertion=name, state="failed" if fails and name == "final_text" else "passed")
            for name in ("tool_called", "call_order", "final_text")
        ),
        violations=(Violation(policy="no card number", step=3),) if number % BREACHING_IN == 0 else (),
        trajectory_digest=f"sha256:{number:060x}{order:04x}",
        tools=TOOLS[: 2 + number % 4],
        step_count=9,
        usage=Usage(prompt_tokens=900, completion_tokens=80),
        seconds=2.5,
    )


def _scenario_id(number: int) -> str:
    return f"scenario-{number:06d}"


def _url(file: Path) -> str:
    return f"sqlite:///{file}"


if __name__ == "__main__":
    main()
