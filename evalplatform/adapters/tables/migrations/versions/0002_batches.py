"""Batches, their scenarios, runs and violations."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CODE_POINTS = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    _create_batches()
    _create_scenarios()
    _create_runs()
    _create_violations()


def _create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("batch_id", CODE_POINTS, nullable=False),
        sa.Column("content_digest", sa.String(), nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("commit", sa.String()),
        sa.Column("branch", sa.String()),
        sa.Column("ci_event", sa.String()),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scenario_set_digest", sa.String()),
        sa.Column("set_scenarios", sa.Integer()),
        sa.Column("policy", sa.JSON()),
        sa.Column("policy_digest", sa.String()),
        sa.Column("run_count", sa.Integer(), nullable=False),
        sa.Column("graded_runs", sa.Integer(), nullable=False),
        sa.Column("passed_runs", sa.Integer(), nullable=False),
        sa.Column("runs_with_steps", sa.Integer(), nullable=False),
        sa.Column("scanned_runs", sa.Integer(), nullable=False),
        sa.Column("truncated_reason", sa.String()),
        sa.Column("retention", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_batches"),
        sa.UniqueConstraint("tenant", "project", "content_digest", name="uq_batches_content"),
        sa.UniqueConstraint("batch_id", "tenant", "project", name="uq_batches_batch_id"),
    )
    op.create_index("ix_batches_newest", "batches", ["tenant", "project", "recorded_at", "batch_id"])


def _create_scenarios() -> None:
    op.create_table(
        "batch_scenarios",
        sa.Column("batch", ROW_ID, nullable=False),
        sa.Column("scenario_id", CODE_POINTS, nullable=False),
        sa.Column("gate_tier", sa.String(), nullable=False),
        sa.Column("path_tolerance", sa.String()),
        sa.Column("planned_runs", sa.Integer(), nullable=False),
        sa.Column("leg", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("batch", "scenario_id", name="pk_batch_scenarios"),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name="fk_batch_scenarios_batch"),
    )


def _create_runs() -> None:
    op.create_table(
        "batch_runs",
        sa.Column("batch", ROW_ID, nullable=False),
        sa.Column("scenario_id", CODE_POINTS, nullable=False),
        sa.Column("run_order", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leg", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("score_points", sa.Float(53)),
        sa.Column("assertions", sa.JSON(), nullable=False),
        sa.Column("model_verdict", sa.JSON()),
        sa.Column("is_scanned", sa.Boolean(), nullable=False),
        sa.Column("trajectory_digest", sa.String()),
        sa.Column("tools", sa.JSON(), nullable=False),
        sa.Column("step_count", sa.Integer(), nullable=False),
        sa.Column("usage", sa.JSON(), nullable=False),
        sa.Column("cost_usd", sa.Float(53)),
        sa.Column("seconds", sa.Float(53)),
        sa.PrimaryKeyConstraint("batch", "scenario_id", "run_order", name="pk_batch_runs"),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name="fk_batch_runs_batch"),
        sa.UniqueConstraint("batch", "run_id", name="uq_batch_runs_run_id"),
    )


def _create_violations() -> None:
    op.create_table(
        "batch_violations",
        sa.Column("batch", ROW_ID, nullable=False),
        sa.Column("scenario_id", CODE_POINTS, nullable=False),
        sa.Column("run_order", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("batch", "scenario_id", "run_order", "position", name="pk_batch_violations"),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name="fk_batch_violations_batch"),
    )


def downgrade() -> None:
    for table in ("batch_violations", "batch_runs", "batch_scenarios", "batches"):
        op.drop_table(table)
