"""Looks of the tests that certify; when phases began and ended; runs by project and group"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "looks",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("candidate", sa.String(length=64), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("against", sa.String(length=16), nullable=False),
        sa.Column("wins", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("log_e", sa.Float(), nullable=True),
        sa.Column("futility", sa.Float(), nullable=True),
        sa.Column("threshold", sa.Float(), nullable=True),
        sa.Column("ruling", sa.String(length=16), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "candidate", "stage", "pairs"),
    )
    op.create_index("looks_by_time", "looks", ["run", "at"])
    # what is not known of phases done before stays null
    op.add_column("phases", sa.Column("started_at", sa.String(length=32), nullable=True))
    op.add_column("phases", sa.Column("at", sa.String(length=32), nullable=True))
    op.create_index("runs_of_group", "runs", ["project_id", "group", "updated_at", "run"])
    op.create_index("runs_of_project_by_state", "runs", ["project_id", "state", "updated_at", "run"])
