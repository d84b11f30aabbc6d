"""The tables of the agent side: batches, what each declares of its scenarios, their runs, and the violations found in those.

Rows are keyed by what they are called (batch, scenario, order), so that a page of runs and of their violations is one stretch of an index.
The names say `batch_`: a deployment may keep Dagster's own tables, of which one is `runs`, in the same database.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Column, Float, Index, String, UniqueConstraint
from sqlmodel import AutoString, Field

from evalplatform.adapters.tables.base import ROW_ID, UtcDateTime
from evalplatform.adapters.tables.rows import TableRow

# Compared by code points everywhere, as Python and SQLite do; Postgres would take the collation of the database.
CODE_POINTS = String().with_variant(String(collation="C"), "postgresql")


def _json() -> Any:
    return Column(JSON(none_as_null=True))


class BatchRow(TableRow, table=True):
    """One batch of one project of one tenant. The same content is one row, whoever pushes it and how often.

    `tenant` to `set_scenarios` are the header's; `policy` is the whole gate policy. `scanned_runs` of `runs_with_steps` is the
    coverage of the scan for violations.
    """

    __tablename__: ClassVar[str] = "batches"
    __table_args__ = (
        UniqueConstraint("tenant", "project", "content_digest", name="uq_batches_content"),
        UniqueConstraint("batch_id", "tenant", "project", name="uq_batches_batch_id"),
        Index("ix_batches_newest", "tenant", "project", "recorded_at", "batch_id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    project: str
    batch_id: str = Field(sa_type=CODE_POINTS)
    content_digest: str
    tenant: str
    commit: str | None
    branch: str | None
    ci_event: str | None
    agent: str
    model: str | None
    judge: str
    origin: str
    recorded_at: datetime = Field(sa_type=UtcDateTime)
    scenario_set_digest: str | None
    set_scenarios: int | None
    policy: dict[str, Any] | None = Field(sa_column=_json())
    policy_digest: str | None
    run_count: int
    graded_runs: int
    passed_runs: int
    runs_with_steps: int
    scanned_runs: int
    truncated_reason: str | None
    retention: str


class BatchScenarioRow(TableRow, table=True):
    """What a batch declares of one scenario; `path_tolerance` is NULL where nothing is declared."""

    __tablename__: ClassVar[str] = "batch_scenarios"

    batch: int = Field(primary_key=True, foreign_key="batches.id", sa_type=ROW_ID)
    scenario_id: str = Field(primary_key=True, sa_type=CODE_POINTS)
    gate_tier: str
    path_tolerance: str | None
    planned_runs: int
    leg: str


class BatchRunRow(TableRow, table=True):
    """One run. Whether all of it was scanned stands here, what was found in `batch_violations`: no row there is not the same as no scan."""

    __tablename__: ClassVar[str] = "batch_runs"
    __table_args__ = (
        UniqueConstraint("batch", "run_id", name="uq_batch_runs_run_id"),
        Index("ix_batch_runs_trajectory", "trajectory_digest"),
    )

    batch: int = Field(primary_key=True, foreign_key="batches.id", sa_type=ROW_ID)
    scenario_id: str = Field(primary_key=True, sa_type=CODE_POINTS)
    run_order: int = Field(primary_key=True)
    run_id: str
    created_at: datetime = Field(sa_type=UtcDateTime)
    leg: str
    outcome: str
    reason: str | None
    score_points: float | None = Field(sa_type=Float(53))
    assertions: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    model_verdict: dict[str, Any] | None = Field(sa_column=_json())
    is_scanned: bool
    trajectory_digest: str | None
    tools: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    step_count: int
    usage: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    cost_usd: float | None = Field(sa_type=Float(53))
    seconds: float | None = Field(sa_type=Float(53))


class BatchViolationRow(TableRow, table=True):
    """A policy that a run breached, and the step where; `position` keeps them in the order they were found in."""

    __tablename__: ClassVar[str] = "batch_violations"

    batch: int = Field(primary_key=True, foreign_key="batches.id", sa_type=ROW_ID)
    scenario_id: str = Field(primary_key=True, sa_type=CODE_POINTS)
    run_order: int = Field(primary_key=True)
    position: int = Field(primary_key=True)
    policy: str = Field(sa_type=AutoString)
    step: int
