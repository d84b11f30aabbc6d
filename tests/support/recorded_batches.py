"""Recorded batches as values, spelled shortly: `batch({"refund": "PPF"})` has three runs of `refund`, of which the last failed."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import Batch, BatchHeader, Leg, Outcome, PlannedScenario, Run, Violation
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep, Trajectory, trajectory_digest

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
OUTCOMES: dict[str, Outcome] = {
    "P": "passed",
    "F": "failed",
    "A": "agent_error",
    "B": "budget_stop",
    "H": "harness_error",
    "U": "ungraded",
}


def trajectory(letter: str) -> Trajectory:
    """What an agent did in a run that ended so: one that passed looked up and answered, any other answered without looking up."""
    asked = MessageStep(role="user", text="When does my refund arrive?")
    call = ToolCallStep(call_id="c1", tool="lookup", arguments_text='{"order": 7}')
    looked_up = (call, ToolResultStep(call_id="c1", tool="lookup", text="3 May")) if letter == "P" else ()
    return Trajectory(steps=(asked, *looked_up, MessageStep(role="assistant", text="On 3 May." if letter == "P" else "Soon.")))


def recorded(
    scenarios: Mapping[str, str],
    *,
    days_ago: float = 0,
    leg: Leg = "live",
    truncated_reason: str | None = None,
    violations: tuple[Violation, ...] | None = (),
    **header: Any,
) -> BundleSummary:
    """A finished batch: the runs of each scenario by the letters of their outcomes, and fields of the header by name.

    `violations` are those of every run; None where none was scanned.
    """
    at = NOW - timedelta(days=days_ago)
    planned = {name: PlannedScenario(planned_runs=max(1, len(letters)), leg=leg) for name, letters in scenarios.items()}
    facts = {"project": "probe", "commit": "c0ffee1", "agent": "echo", "judge": "structural", "scenarios": planned, **header}
    runs = tuple(
        Run(
            scenario_id=name,
            order=order,
            created_at=at + timedelta(seconds=order),
            leg=leg,
            outcome=OUTCOMES[letter],
            reason=None if letter == "P" else "the reply names no date",
            score_points=None if letter in "HU" else 100.0 if letter == "P" else 50.0,
            violations=violations,
            trajectory_digest=None if letter in "HU" else trajectory_digest(trajectory(letter)),
            tools=() if letter in "HU" else trajectory(letter).tools,
            step_count=0 if letter in "HU" else len(trajectory(letter).steps),
        )
        for name, letters in sorted(scenarios.items())
        for order, letter in enumerate(letters)
    )
    return BundleSummary(BatchHeader(recorded_at=at, **facts), runs, True, truncated_reason)


class MemoryBatches:
    """Recorded batches by id, newest first, with their runs: what is asked of a batch store, without one. It counts what is read."""

    def __init__(self, *summaries: BundleSummary, **retention: Any) -> None:
        self._summaries = {summary.batch.id: summary for summary in summaries}
        self._retention = retention
        self.read: list[str] = []

    @property
    def batches(self) -> list[Batch]:
        """All of them, newest first; `retention` replaces that of every batch."""
        found = [summary.batch.with_changes(**self._retention) for summary in self._summaries.values()]
        return sorted(found, key=lambda batch: (batch.header.recorded_at, batch.id), reverse=True)

    def runs(self, batch_id: str) -> tuple[Run, ...]:
        """The runs of a batch."""
        self.read.append(batch_id)
        return self._summaries[batch_id].runs
