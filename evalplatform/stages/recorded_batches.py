"""Stage `batches` [batch]: a batch of the batch store as files: what it is, and a table of its runs.

The store keeps the batch itself and the object store its trajectories, by digest. Nothing is computed here but counts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from evalplatform.reports.view import Cell, Column, Table
from evalplatform.runs.records import Batch, Outcome, Run, ScanCoverage
from evalplatform.stages.context import StageKey, StageResult, stored_result, unchanged_result
from evalplatform.stages.facts import as_facts
from evalplatform.stages.run_table import RUNS
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stages.runs_facts import BatchFacts

ASSET = "batches"
CODE_VERSION = "1"
BATCH_FILE = "batch.json"
RUNS_FILE = "runs.parquet"
PREVIEW_ROWS = 10


@dataclass
class _RunSet:
    """How the runs of one scenario ended."""

    passed: int = 0
    graded: int = 0
    not_graded: int = 0


@dataclass
class _Tally:
    """Counts runs while they pass by on their way into the table."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    scenarios: dict[str, _RunSet] = field(default_factory=dict)
    coverage: ScanCoverage = field(default_factory=ScanCoverage)

    def counted(self, runs: Iterable[Run]) -> Iterator[Run]:
        """Iterate over the runs, counting each."""
        for run in runs:
            self.outcomes[run.outcome] += 1
            self.coverage = self.coverage.with_runs([run])
            of_scenario = self.scenarios.setdefault(run.scenario_id, _RunSet())
            of_scenario.passed += run.verdict == "passed"
            of_scenario.graded += run.verdict is not None
            of_scenario.not_graded += run.verdict is None
            yield run


def materialize_batch(context: RunsContext, batch_id: str) -> StageResult:
    """Store a batch's record and runs as an artifact.

    Raises:
        UnknownNameError: the store has no such batch.
        InputError: it is a batch of another project.
        StorageError: a store cannot be read or written.
    """
    batch = context.batches.batch(batch_id)
    inputs = {"content": batch.content_digest, "retention": batch.retention}
    key = StageKey(context.artifact(ASSET, batch.id), inputs=inputs, code_version=CODE_VERSION)
    if (known := unchanged_result(context, key)) is not None:
        return known
    tally = _Tally()
    runs = RUNS.write(tally.counted(context.batches.runs(batch.id)))
    files = {BATCH_FILE: orjson.dumps(batch.model_dump(mode="json"), option=orjson.OPT_INDENT_2), RUNS_FILE: runs}
    return stored_result(context, key, files=files, facts=as_facts(_facts(batch, tally)))


def _facts(batch: Batch, tally: _Tally) -> BatchFacts:
    header = batch.header
    run_sets = tally.scenarios.values()
    return BatchFacts(
        batch=batch.id,
        commit=header.commit,
        branch=header.branch,
        agent=header.agent,
        model=header.model,
        judge=header.judge,
        recorded_at=header.recorded_at,
        scenarios=len(run_sets),
        passed_scenarios=sum(0 < one.graded == one.passed for one in run_sets),
        mixed_scenarios=sum(0 < one.passed < one.graded for one in run_sets),
        runs=tally.outcomes.total(),
        graded=sum(one.graded for one in run_sets),
        outcomes=dict(sorted(tally.outcomes.items())),
        coverage=tally.coverage,
        truncated_reason=batch.truncated_reason,
        retention=batch.retention,
        preview=_preview(tally),
    )


def _preview(tally: _Tally) -> Table:
    """Return the scenarios with the most failed runs."""
    worst_first = sorted(tally.scenarios.items(), key=lambda item: (item[1].passed - item[1].graded, item[0]))
    columns = (Column(label="Scenario", numeric=False), Column(label="Passed of graded"), Column(label="Not graded"))
    return Table(
        columns=columns,
        rows=tuple(
            (Cell(text=name), Cell(text=f"{one.passed}/{one.graded}"), Cell(text=f"{one.not_graded}"))
            for name, one in worst_first[:PREVIEW_ROWS]
        ),
    )
