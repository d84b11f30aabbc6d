"""The tables of gates: remembered ones, each scenario at them, and the gate policy that the platform holds for a project."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Column, Index, UniqueConstraint
from sqlmodel import Field

from evalplatform.adapters.tables.base import ROW_ID, UtcDateTime
from evalplatform.adapters.tables.batches import CODE_POINTS
from evalplatform.adapters.tables.rows import TableRow


class GateRow(TableRow, table=True):
    """One remembered gate of one project of one tenant; its key is given once. `history` is NULL where none was asked for."""

    __tablename__: ClassVar[str] = "gates"
    __table_args__ = (
        UniqueConstraint("tenant", "project", "key", name="uq_gates_key"),
        Index("ix_gates_newest", "tenant", "project", "received_at", "id"),
        Index("ix_gates_candidate", "tenant", "project", "candidate"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=ROW_ID)
    tenant: str
    project: str
    key: str = Field(sa_type=CODE_POINTS)
    baseline: str = Field(sa_type=CODE_POINTS)
    candidate: str = Field(sa_type=CODE_POINTS)
    strictness: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    history: list[Any] | None = Field(sa_column=Column(JSON(none_as_null=True)))
    history_unreadable: bool
    branch: str | None
    baseline_branch: str | None
    standing: str
    reason: str | None
    received_at: datetime = Field(sa_type=UtcDateTime)
    commit: str | None
    certificate_digest: str | None


class GateScenarioRow(TableRow, table=True):
    """One scenario at one remembered gate."""

    __tablename__: ClassVar[str] = "gate_scenarios"
    __table_args__ = (Index("ix_gate_scenarios_scenario", "scenario_id", "gate"),)

    gate: int = Field(primary_key=True, foreign_key="gates.id", sa_type=ROW_ID)
    scenario_id: str = Field(primary_key=True, sa_type=CODE_POINTS)
    verdict: str | None
    path_digest: str | None
    passed: int
    graded: int
    gates: bool


class GatePolicyRow(TableRow, table=True):
    """The gate policy that is held for a project of a tenant; what it was before stands in the audit log."""

    __tablename__: ClassVar[str] = "gate_policies"

    tenant: str = Field(primary_key=True)
    project: str = Field(primary_key=True)
    policy: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    set_by: str
    set_at: datetime = Field(sa_type=UtcDateTime)
