"""Schedules of monitored agents, and nights."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CODE_POINTS = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("schedule_id", CODE_POINTS, nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("header_token", sa.String()),
        sa.PrimaryKeyConstraint("tenant", "project", "schedule_id", name="pk_schedules"),
    )
    op.create_table(
        "nights",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("night_key", CODE_POINTS, nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("stream", CODE_POINTS, nullable=False),
        sa.Column("slot_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("alert", sa.JSON()),
        sa.Column("is_alert_open", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_nights"),
        sa.UniqueConstraint("tenant", "project", "night_key", name="uq_nights_key"),
    )
    op.create_index("ix_nights_newest", "nights", ["tenant", "project", "slot_at", "night_key"])
    op.create_index("ix_nights_stream", "nights", ["tenant", "project", "stream", "slot_at", "night_key"])
    op.create_index("ix_nights_state", "nights", ["tenant", "project", "state", "slot_at", "night_key"])
    op.create_index("ix_nights_open_alert", "nights", ["tenant", "project", "is_alert_open", "slot_at", "night_key"])


def downgrade() -> None:
    op.drop_table("nights")
    op.drop_table("schedules")
