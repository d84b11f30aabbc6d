"""Two batches to compare, spelled shortly: `side({"refund": [run("passed", tools=("lookup",))]})`."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import BatchHeader, Outcome, PlannedScenario, Run, Violation

BEGUN = datetime(2026, 11, 30, 8, tzinfo=UTC)

RunFacts = Mapping[str, Any]


def run(
    outcome: Outcome = "passed", *, tools: Sequence[str] = ("lookup",), violations: Mapping[str, int] | None = None, **facts: Any
) -> dict[str, Any]:
    """A run's facts, without its place: what could not run has no trajectory; `violations` maps policies to steps, None is not scanned."""
    digest = None if outcome == "harness_error" else "sha256:" + "0" * 64
    found = None if violations is None else tuple(Violation(policy=policy, step=step) for policy, step in violations.items())
    return {"outcome": outcome, "tools": tuple(tools), "trajectory_digest": digest, "violations": found, **facts}


def not_made() -> dict[str, Any]:
    """The place of a run that a batch never got to."""
    return run("ungraded", trajectory_digest=None)


def runs(passed: int, failed: int = 0) -> list[dict[str, Any]]:
    """A run set of so many passes, then so many failures."""
    return [run("passed")] * passed + [run("failed")] * failed


def side(
    scenarios: Mapping[str, Sequence[RunFacts]],
    *,
    planned: Mapping[str, PlannedScenario] | None = None,
    retention: str = "whole",
    hours: float = 0,
    **header: Any,
) -> BatchRuns:
    """One batch with its runs; each scenario is declared with the runs it has unless `planned` says otherwise."""
    declared = {name: PlannedScenario(planned_runs=max(1, len(facts))) for name, facts in scenarios.items()} if planned is None else planned
    begun = BEGUN + timedelta(hours=hours)
    made = tuple(
        Run.model_validate({"scenario_id": name, "order": order, "created_at": begun, **facts})
        for name in sorted(scenarios)
        for order, facts in enumerate(scenarios[name])
    )
    known: dict[str, Any] = {"project": "shop", "agent": "cli", "judge": "structural", **header}
    batch = BundleSummary(BatchHeader(recorded_at=begun, scenarios=dict(declared), **known), made, True, None).batch

    def read() -> Iterator[Run]:
        return iter(made)

    return BatchRuns(batch.with_changes(retention=retention), read)
