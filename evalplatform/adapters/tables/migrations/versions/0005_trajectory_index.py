"""Runs by their trajectory, so that retention finds out quickly whether any still names one."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_batch_runs_trajectory", "batch_runs", ["trajectory_digest"])


def downgrade() -> None:
    op.drop_index("ix_batch_runs_trajectory", table_name="batch_runs")
