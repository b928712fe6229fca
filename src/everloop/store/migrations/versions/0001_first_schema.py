"""First schema"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "candidates",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("candidate", sa.String(length=32), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=True),
        sa.Column("artifact", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("proposal", sa.JSON(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("screen", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("certification", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "candidate"),
    )
    op.create_index("candidates_by_round", "candidates", ["run", "round"], unique=False)
    op.create_table(
        "caps",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("cap", sa.String(length=32), nullable=False),
        sa.Column("limit", sa.BigInteger(), nullable=True),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run", "cap"),
    )
    op.create_table(
        "claims",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("claim", sa.String(length=32), nullable=False),
        sa.Column("candidate", sa.String(length=32), nullable=False),
        sa.Column("against", sa.String(length=32), nullable=False),
        sa.Column("occasion", sa.String(length=32), nullable=False),
        sa.Column("alpha", sa.Float(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "claim", "candidate", "against", "occasion"),
    )
    op.create_table(
        "cursors",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("set", sa.String(length=16), nullable=False),
        sa.Column("family", sa.String(length=64), nullable=False),
        sa.Column("cursor", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run", "set", "family"),
    )
    op.create_table(
        "directives",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.String(length=256), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("directives_by_run", "directives", ["run", "id"], unique=False)
    op.create_table(
        "events",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("phase", sa.String(length=32), nullable=True),
        sa.Column("role", sa.String(length=32), nullable=True),
        sa.Column("tool", sa.String(length=64), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run", "seq"),
    )
    op.create_table(
        "experiences",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("family", sa.String(length=64), nullable=False),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("observed", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("feedback", sa.Text(), nullable=False),
        sa.Column("improvement", sa.Text(), nullable=False),
        sa.Column("born", sa.String(length=32), nullable=False),
        sa.Column("rolled_back", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("experiences_by_round", "experiences", ["run", "round", "id"], unique=False)
    op.create_index("experiences_once", "experiences", ["run", "content_hash"], unique=True)
    op.create_table(
        "gates",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("occasion", sa.String(length=64), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run", "occasion"),
    )
    op.create_table(
        "jobs",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("job", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(length=32), nullable=False),
        sa.Column("method", sa.String(length=32), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("launcher", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("returncode", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("reserved_micros", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("updated_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "job"),
    )
    op.create_index("jobs_by_time", "jobs", ["run", "created_at"], unique=False)
    op.create_table(
        "phases",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=32), nullable=False),
        sa.Column("candidate", sa.String(length=64), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run", "round", "phase", "candidate"),
    )
    op.create_table(
        "reservations",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reserved", sa.JSON(), nullable=False),
        sa.Column("actual", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "key"),
    )
    op.create_table(
        "reviews",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("candidate", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "candidate", "kind"),
    )
    op.create_index("reviews_by_time", "reviews", ["run", "at"], unique=False)
    op.create_table(
        "rounds",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("version", sa.String(length=16), nullable=True),
        sa.Column("plan", sa.Text(), nullable=True),
        sa.Column("spend", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("started_at", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("run", "round"),
    )
    op.create_table(
        "runs",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("group", sa.String(length=16), nullable=False),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.Column("mode", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("stop_requested", sa.Boolean(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("rounds_target", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=32), nullable=True),
        sa.Column("brief", sa.Text(), nullable=False),
        sa.Column("owner", sa.JSON(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("limits", sa.JSON(), nullable=False),
        sa.Column("goal", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("stop", sa.JSON(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("protocol", sa.JSON(), nullable=False),
        sa.Column("protocol_sha256", sa.String(length=64), nullable=False),
        sa.Column("worst_case_usd", sa.Float(), nullable=True),
        sa.Column("best_version", sa.String(length=16), nullable=True),
        sa.Column("working_head", sa.String(length=32), nullable=True),
        sa.Column("lines", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=True),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("updated_at", sa.String(length=32), nullable=False),
        sa.Column("started_at", sa.String(length=32), nullable=True),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("run"),
    )
    op.create_index("runs_by_state", "runs", ["state"], unique=False)
    op.create_index("runs_by_update", "runs", ["updated_at", "run"], unique=False)
    op.create_table(
        "scores",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=32), nullable=False),
        sa.Column("set", sa.String(length=16), nullable=False),
        sa.Column("split", sa.String(length=64), nullable=False),
        sa.Column("mean", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("missing", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run", "subject", "set", "split"),
    )
    op.create_table(
        "set_uses",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("set", sa.String(length=16), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("use_cap", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run", "set", "generation"),
    )
    op.create_table(
        "steers",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author", sa.String(length=256), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("delivered_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("steers_by_run", "steers", ["run", "id"], unique=False)
    op.create_table(
        "versions",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(length=16), nullable=False),
        sa.Column("parent", sa.String(length=16), nullable=True),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("candidate", sa.String(length=32), nullable=True),
        sa.Column("rows", sa.Integer(), nullable=True),
        sa.Column("artifact", sa.JSON(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("run", "ordinal"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("host", sa.String(length=256), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.String(length=32), nullable=False),
        sa.Column("heartbeat", sa.Float(), nullable=False),
        sa.Column("fenced", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("workers_by_life", "workers", ["fenced", "id"], unique=False)
    _append_only()


def _append_only() -> None:
    """Events are never changed or deleted, whoever asks."""
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER events_no_{change.lower()} BEFORE {change} ON events "
                "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION everloop_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events "
        "FOR EACH ROW EXECUTE FUNCTION everloop_append_only()"
    )
