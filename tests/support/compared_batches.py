"""Two recorded batches that differ in every way a report names, as runs by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.runs.bundle import BundleSummary, new_bundle
from evalplatform.runs.records import BatchHeader, GateTier, Outcome, PlannedScenario, Run, Violation
from evalplatform.runs.tolerance import PathTolerance
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep, Trajectory, trajectory_digest

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
PATH = ("find_order", "refund")
LETTERS: dict[str, Outcome] = {
    "P": "passed",
    "F": "failed",
    "A": "agent_error",
    "B": "budget_stop",
    "H": "harness_error",
    "U": "ungraded",
}
NO_VERDICT = "HU"


class Told:
    """One scenario of a batch: its runs by the letters of their outcomes, and what else is declared or found."""

    def __init__(
        self,
        letters: str,
        *,
        tools: Sequence[str] = PATH,
        points: float | None = None,
        violations: Sequence[tuple[str, int]] | None = (),
        tolerance: PathTolerance | None = None,
        planned: int | None = None,
        tier: GateTier = "standard",
    ) -> None:
        self.letters, self.tools, self.points, self.tolerance = letters, tuple(tools), points, tolerance
        self.violations = None if violations is None else tuple(Violation(policy=policy, step=step) for policy, step in violations)
        self.tier: GateTier = tier
        self.planned = planned if planned is not None else max(1, len(letters))


def batch_of(scenarios: dict[str, Told], *, hours: int = 0, truncated_reason: str | None = None, **header: Any) -> BundleSummary:
    """A finished batch of those scenarios."""
    at = AT + timedelta(hours=hours)
    planned = {
        name: PlannedScenario(planned_runs=told.planned, tolerance=told.tolerance, tier=told.tier) for name, told in scenarios.items()
    }
    facts = {"project": "shop", "commit": "c0ffee1", "agent": "shop-agent", "judge": "structural", "scenarios": planned, **header}
    runs = tuple(_run(name, told, order, at) for name, told in sorted(scenarios.items()) for order in range(len(told.letters)))
    return BundleSummary(BatchHeader(recorded_at=at, **facts), runs, True, truncated_reason)


def compared(baseline: BundleSummary, candidate: BundleSummary, **changes: Any) -> BatchComparison:
    """The comparison of two batches; `baseline_retention` and `candidate_retention` say what became of them."""
    return compared_with_rows(baseline, candidate, **changes)[0]


def compared_with_rows(
    baseline: BundleSummary, candidate: BundleSummary, *, baseline_retention: str = "whole", candidate_retention: str = "whole"
) -> tuple[BatchComparison, list[ScenarioChange]]:
    """The comparison, and the row of every scenario."""
    rows: list[ScenarioChange] = []
    before = BatchRuns(baseline.batch.with_changes(retention=baseline_retention), lambda: iter(baseline.runs))
    after = BatchRuns(candidate.batch.with_changes(retention=candidate_retention), lambda: iter(candidate.runs))
    return compare_batches(before, after, on_row=rows.append), rows


def a_regression() -> tuple[BundleSummary, BundleSummary]:
    """Four runs a side: every class, tolerances, violations, budget stops, missing and harness runs."""
    baseline = {
        "collapse": Told("PPPP"),
        "half": Told("PPPP"),
        "one-run": Told("P"),
        "stopped": Told("PPPP"),
        "offline": Told("PPPP"),
        "mended": Told("FFFF"),
        "weaker": Told("FFFF", points=75.0),
        "reordered": Told("PPPP", tools=("a", "b"), tolerance="any_order"),
        "drifted": Told("PPPP"),
        "declared": Told("PPPP", tolerance="exact"),
        "gone": Told("PPPP"),
        "no-harness": Told("HHHH"),
        "steady": Told("PPPP"),
        "leaking": Told("PPPP"),
    }
    candidate = {
        "collapse": Told("FFFF", tools=("find_order", "escalate")),
        "half": Told("FPFP"),
        "one-run": Told("P"),
        "stopped": Told("BBFF"),
        "offline": Told("PPPH"),
        "mended": Told("PPPP"),
        "weaker": Told("FFFF", points=25.0),
        "reordered": Told("PPPP", tools=("b", "a"), tolerance="any_order"),
        "drifted": Told("PPP", tools=("find_order",), planned=4),
        "declared": Told("PPPP", tolerance="tool_set"),
        "new": Told("PPPP"),
        "no-harness": Told("PPPP"),
        "steady": Told("PPPP"),
        "leaking": Told("PPPP", violations=[("No SSN in trajectory", 3)]),
    }
    return (
        batch_of(baseline),
        batch_of(candidate, hours=3, commit="beef002", truncated_reason="the spend cap of $5.00 was reached"),
    )


def trajectory_of(name: str, tools: Sequence[str]) -> Trajectory:
    """A user's message, the calls with their results, and a last word."""
    calls = [
        step
        for place, tool in enumerate(tools)
        for step in (
            ToolCallStep(call_id=f"c{place}", tool=tool, arguments_text='{"order": "A-1"}'),
            ToolResultStep(call_id=f"c{place}", tool=tool, text=f"{tool} done"),
        )
    ]
    question = MessageStep(role="user", text=f"Please see to {name}.")
    return Trajectory(steps=(question, *calls, MessageStep(role="assistant", text="It is done.")))


def write_bundle(path: Path, batch: BundleSummary) -> Path:
    """The batch as a finished bundle, each run with its trajectory."""
    with new_bundle(path, batch.header) as writer:
        for run in batch.runs:
            has_one = run.trajectory_digest is not None
            writer.add(run, trajectory_of(run.scenario_id, run.tools) if has_one else None)
        writer.finish(truncated_reason=batch.truncated_reason)
    return path


def _run(name: str, told: Told, order: int, at: datetime) -> Run:
    letter = told.letters[order]
    trajectory = trajectory_of(name, told.tools)
    passed_points = 100.0 if letter == "P" else 50.0
    return Run(
        scenario_id=name,
        order=order,
        created_at=at + timedelta(seconds=order),
        outcome=LETTERS[letter],
        reason={"P": None, "H": "connection refused"}.get(letter, "the refund was not made"),
        score_points=None if letter in NO_VERDICT else passed_points if told.points is None else told.points,
        violations=None if letter in NO_VERDICT and told.violations is None else told.violations,
        trajectory_digest=None if letter == "H" else trajectory_digest(trajectory),
        tools=() if letter == "H" else trajectory.tools,
        step_count=0 if letter == "H" else len(trajectory.steps),
    )
