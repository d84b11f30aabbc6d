"""Between batches and runs and their rows. A value that is read back is validated, and equals the one that was written."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping

from evalplatform.runs.records import Batch, BatchHeader, PlannedScenario, Run, ScanCoverage

Row = dict[str, Any]

_HEADER_COLUMNS = tuple(name for name in BatchHeader.model_fields if name != "scenarios")
_BATCH_COLUMNS = ("content_digest", "run_count", "graded_runs", "passed_runs", "truncated_reason", "retention")
_RUN_COLUMNS = (
    "scenario_id",
    "created_at",
    "leg",
    "outcome",
    "reason",
    "score_points",
    "assertions",
    "model_verdict",
    "trajectory_digest",
    "tools",
    "step_count",
    "usage",
    "cost_usd",
    "seconds",
)
_JSON_COLUMNS = frozenset({"assertions", "model_verdict", "tools", "usage"})


def batch_row(batch: Batch) -> Row:
    """Return the row of a batch, without its scenarios."""
    header = {name: getattr(batch.header, name) for name in _HEADER_COLUMNS}
    own = {name: getattr(batch, name) for name in _BATCH_COLUMNS}
    derived = {"batch_id": batch.id, "policy_digest": batch.header.policy_digest}
    coverage = {"scanned_runs": batch.coverage.scanned_runs, "runs_with_steps": batch.coverage.runs}
    return header | own | derived | coverage


def scenario_rows(batch_key: int, scenarios: Mapping[str, PlannedScenario]) -> list[Row]:
    """Return a row for what a batch declares of each scenario."""
    return [
        {
            "batch": batch_key,
            "scenario_id": scenario_id,
            "gate_tier": planned.tier,
            "path_tolerance": planned.tolerance,
            "planned_runs": planned.planned_runs,
            "leg": planned.leg,
        }
        for scenario_id, planned in scenarios.items()
    ]


def batch_of(row: RowMapping, scenarios: Iterable[RowMapping]) -> Batch:
    """Return a batch from its row and those of its scenarios."""
    planned = {
        scenario["scenario_id"]: PlannedScenario(
            tier=scenario["gate_tier"],
            tolerance=scenario["path_tolerance"],
            planned_runs=scenario["planned_runs"],
            leg=scenario["leg"],
        )
        for scenario in scenarios
    }
    return Batch(
        id=row["batch_id"],
        header=BatchHeader(**{name: row[name] for name in _HEADER_COLUMNS}, scenarios=planned),
        coverage=ScanCoverage(scanned_runs=row["scanned_runs"], runs=row["runs_with_steps"]),
        **{name: row[name] for name in _BATCH_COLUMNS},
    )


def run_row(batch_key: int, run: Run, *, run_id: str) -> Row:
    """Return the row of a run, without its violations."""
    nested = run.model_dump(mode="json", include=set(_JSON_COLUMNS))
    plain = {name: getattr(run, name) for name in _RUN_COLUMNS if name not in _JSON_COLUMNS}
    keys = {"batch": batch_key, "run_order": run.order, "run_id": run_id, "is_scanned": _is_scanned_whole(run)}
    return keys | plain | nested


def violation_rows(batch_key: int, run: Run) -> list[Row]:
    """Return a row for each violation of a run."""
    keys = {"batch": batch_key, "scenario_id": run.scenario_id, "run_order": run.order}
    return [
        keys | {"position": position, "policy": violation.policy, "step": violation.step}
        for position, violation in enumerate(run.violations or ())
    ]


def run_of(row: RowMapping, violations: Sequence[RowMapping]) -> Run:
    """Return a run from its row and those of its violations, in their order."""
    found = [{"policy": violation["policy"], "step": violation["step"]} for violation in violations]
    columns = {name: row[name] for name in _RUN_COLUMNS}
    # A run that was not scanned as a whole and has violations is one whose scan was given up after they were found.
    scan = {"violations": found if found or row["is_scanned"] else None, "scan_given_up": bool(found) and not row["is_scanned"]}
    return Run.model_validate(columns | scan | {"order": row["run_order"]})


def _is_scanned_whole(run: Run) -> bool:
    return run.violations is not None and not run.scan_given_up
