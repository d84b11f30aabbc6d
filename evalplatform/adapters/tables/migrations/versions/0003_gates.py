"""Remembered gates, each scenario at them, and held gate policies."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CODE_POINTS = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    _create_gates()
    _create_scenarios()
    _create_policies()


def _create_gates() -> None:
    op.create_table(
        "gates",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("key", CODE_POINTS, nullable=False),
        sa.Column("baseline", CODE_POINTS, nullable=False),
        sa.Column("candidate", CODE_POINTS, nullable=False),
        sa.Column("strictness", sa.JSON(), nullable=False),
        sa.Column("history", sa.JSON()),
        sa.Column("history_unreadable", sa.Boolean(), nullable=False),
        sa.Column("branch", sa.String()),
        sa.Column("baseline_branch", sa.String()),
        sa.Column("standing", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("commit", sa.String()),
        sa.Column("certificate_digest", sa.String()),
        sa.PrimaryKeyConstraint("id", name="pk_gates"),
        sa.UniqueConstraint("tenant", "project", "key", name="uq_gates_key"),
    )
    op.create_index("ix_gates_newest", "gates", ["tenant", "project", "received_at", "id"])
    op.create_index("ix_gates_candidate", "gates", ["tenant", "project", "candidate"])


def _create_scenarios() -> None:
    op.create_table(
        "gate_scenarios",
        sa.Column("gate", ROW_ID, nullable=False),
        sa.Column("scenario_id", CODE_POINTS, nullable=False),
        sa.Column("verdict", sa.String()),
        sa.Column("path_digest", sa.String()),
        sa.Column("passed", sa.Integer(), nullable=False),
        sa.Column("graded", sa.Integer(), nullable=False),
        sa.Column("gates", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("gate", "scenario_id", name="pk_gate_scenarios"),
        sa.ForeignKeyConstraint(["gate"], ["gates.id"], name="fk_gate_scenarios_gate"),
    )
    op.create_index("ix_gate_scenarios_scenario", "gate_scenarios", ["scenario_id", "gate"])


def _create_policies() -> None:
    op.create_table(
        "gate_policies",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("policy", sa.JSON(), nullable=False),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "project", name="pk_gate_policies"),
    )


def downgrade() -> None:
    for table in ("gate_policies", "gate_scenarios", "gates"):
        op.drop_table(table)
