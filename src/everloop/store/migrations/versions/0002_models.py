"""Models behind the gateway, the journal of calls, keys of the gateway, labels and calibrations of the soft score"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Apply."""
    op.add_column("experiences", sa.Column("gold", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "models",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "calls",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("call", sa.String(length=192), nullable=False),
        sa.Column("model", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("open_micros", sa.BigInteger(), nullable=True),
        sa.Column("spent_micros", sa.BigInteger(), nullable=False),
        sa.Column("response", sa.Text(), nullable=True),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "call"),
    )
    op.create_table(
        "gateway_keys",
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("models", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.String(length=32), nullable=True),
        sa.Column("revoked_at", sa.String(length=32), nullable=True),
        sa.Column("used_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("prefix"),
    )
    op.create_table(
        "labels",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("change", sa.JSON(), nullable=False),
        sa.Column("good", sa.Boolean(), nullable=False),
        sa.Column("author", sa.String(length=256), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("labels_by_source", "labels", ["source", "id"], unique=False)
    op.create_table(
        "calibrations",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
