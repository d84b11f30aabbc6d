"""A batch comparison as JSON, schema version 3: all that it used, unrounded, with a row for every scenario, the unchanged ones too.

The rows are written as the comparison makes them, so a file of any size takes little memory; what they come to stands after them.
"""

from collections.abc import Iterable
from typing import IO, Literal, NamedTuple

from pydantic import Field, ValidationError

from evalplatform.comparisons.batches.records import (
    SCHEMA_VERSION,
    BaselineChoice,
    BatchComparison,
    ChangeClass,
    ComparisonVerdict,
    IncomparableReason,
    RunSetReport,
    ScenarioChange,
)
from evalplatform.gates.records import ReplayDeterminism
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.reports.gate_view import GateView
from evalplatform.reports.headline_words import Divergence, Headline, headline_of
from evalplatform.runs.records import Batch, ScanCoverage


class BatchComparisonV3(Value):
    """The file.

    Attributes:
        headline: the gate's answer in a sentence, its counts, and where the first changed scenario's runs part.
        scenarios: every scenario's row, by id: both run ids, class, tolerance applied and declared, k/n of both run sets, violations. Those
            that a partial batch was not recorded of are counted in `not_run_in_baseline` and `not_run_in_candidate`, and have none.
        named: the ids of the scenarios that reports list, in their order.
        would_fail: whether a gate fails: by the gate policy where one decides, else by the flip rule.
        baseline_choice: why this baseline.
        gate: what the gate policy makes of it, with its certificate; None where no policy decides.
    """

    scenarios: tuple[ScenarioChange, ...]
    schema_version: Literal[3] = SCHEMA_VERSION
    headline: Headline
    named: tuple[str, ...]
    baseline: Batch
    candidate: Batch
    baseline_choice: BaselineChoice
    verdict: ComparisonVerdict
    would_fail: bool
    incomparable_reason: IncomparableReason | None
    counts: dict[ChangeClass, int]
    could_not_run: int = Field(ge=0)
    compared: int = Field(ge=0)
    differing_legs: int = Field(ge=0)
    uncompared_breaches: int = Field(ge=0)
    not_run_in_baseline: int = Field(ge=0)
    not_run_in_candidate: int = Field(ge=0)
    baseline_coverage: ScanCoverage
    candidate_coverage: ScanCoverage
    run_sets: RunSetReport | None
    gate: GateView | None = None


class ReadComparison(NamedTuple):
    """A comparison read back: the same value that was written, every scenario's row, why the baseline was taken, and the headline."""

    comparison: BatchComparison
    rows: tuple[ScenarioChange, ...]
    choice: BaselineChoice
    headline: Headline
    gate: GateView | None = None


class V3Writer:
    """Writes one file: `add` takes each row as the comparison makes it, `finish` what all of them come to."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._rows = 0
        out.write(b'{"scenarios":[')

    def add(self, row: ScenarioChange) -> None:
        """Write one scenario's row."""
        self._out.write((b",\n" if self._rows else b"\n") + row.model_dump_json().encode())
        self._rows += 1

    def finish(
        self,
        comparison: BatchComparison,
        *,
        choice: BaselineChoice = "named",
        divergence: Divergence | None = None,
        gate: GateView | None = None,
        determinism: ReplayDeterminism | None = None,
    ) -> None:
        """Write the rest, with the headline and the gate; nothing is added any more."""
        decision = None if gate is None else gate.decision
        headline = headline_of(comparison, choice=choice, divergence=divergence, decision=decision, determinism=determinism)
        rest = _of_comparison(comparison, (), headline, gate).model_dump_json(exclude={"scenarios"})
        self._out.write(f"\n],\n{rest.removeprefix('{')}\n".encode())


def batch_comparison_v3(
    comparison: BatchComparison,
    rows: Iterable[ScenarioChange],
    *,
    choice: BaselineChoice = "named",
    divergence: Divergence | None = None,
    gate: GateView | None = None,
) -> bytes:
    """Return the file as bytes, of rows that are at hand; V3Writer writes it without holding them."""
    from io import BytesIO

    out = BytesIO()
    writer = V3Writer(out)
    for row in rows:
        writer.add(row)
    writer.finish(comparison, choice=choice, divergence=divergence, gate=gate)
    return out.getvalue()


def read_batch_comparison_v3(data: bytes, *, file: object = None) -> ReadComparison:
    """Read a file back.

    Raises:
        InputError: it is no such file, with the field; or it lists a scenario that it has no row of.
    """
    try:
        read = BatchComparisonV3.model_validate_json(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or None
        raise InputError(f"is no batch comparison of schema version 3: {problem['msg']}.", file=file, field=where) from None
    by_id = {row.scenario_id: row for row in read.scenarios}
    missing = next((name for name in read.named if name not in by_id), None)
    if missing is not None:
        raise InputError(f"lists the scenario {missing!r} and has no row of it.", file=file, field="named")
    fields = {name: getattr(read, name) for name in BatchComparison.model_fields if name != "changes"}
    comparison = BatchComparison(changes=tuple(by_id[name] for name in read.named), **fields)
    return ReadComparison(comparison, read.scenarios, read.baseline_choice, read.headline, read.gate)


def _of_comparison(
    comparison: BatchComparison, rows: tuple[ScenarioChange, ...], headline: Headline, gate: GateView | None
) -> BatchComparisonV3:
    fields = {name: getattr(comparison, name) for name in BatchComparison.model_fields if name != "changes"}
    return BatchComparisonV3(
        scenarios=rows,
        named=tuple(change.scenario_id for change in comparison.changes),
        headline=headline,
        baseline_choice=headline.choice,
        would_fail=comparison.would_fail if gate is None else gate.decision.fails,
        gate=gate,
        **fields,
    )
