"""What a run is: its row, events, journal, rounds, candidates, evidence, words of its owner."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text

from everloop.store._columns import ID, metadata, run_key

runs = Table(
    "runs",
    metadata,
    run_key(),
    Column("kind", String(16), nullable=False),
    Column("group", String(16), nullable=False),
    Column("level", String(16), nullable=False),
    Column("domain", String(64), nullable=False),
    Column("mode", String(8), nullable=False),
    Column("state", String(16), nullable=False),
    Column("stop_requested", Boolean, nullable=False),
    Column("round", Integer, nullable=False),
    Column("rounds_target", Integer, nullable=False),
    Column("phase", String(32)),
    Column("brief", Text, nullable=False),
    Column("owner", JSON, nullable=False),
    Column("workspace_id", String(128)),
    Column("project_id", String(128)),
    Column("seed", BigInteger, nullable=False),
    Column("limits", JSON, nullable=False),
    Column("goal", JSON(none_as_null=True)),
    Column("stop", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("protocol", JSON, nullable=False),
    Column("protocol_sha256", String(64), nullable=False),
    Column("worst_case_usd", Float),
    Column("best_version", String(16)),
    Column("working_head", String(32)),
    Column("lines", JSON(none_as_null=True)),
    Column("generation", Integer, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("machine", Text),
    Column("error", JSON(none_as_null=True)),
    Column("created_at", String(32), nullable=False),
    Column("updated_at", String(32), nullable=False),
    Column("started_at", String(32)),
    Column("ended_at", String(32)),
    Index("runs_by_update", "updated_at", "run"),
    Index("runs_by_state", "state"),
    Index("runs_of_project", "project_id", "updated_at", "run"),
    Index("runs_of_group", "project_id", "group", "updated_at", "run"),
    Index("runs_of_project_by_state", "project_id", "state", "updated_at", "run"),
)

events = Table(
    "events",
    metadata,
    run_key(),
    Column("seq", Integer, primary_key=True),
    Column("at", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("round", Integer),
    Column("phase", String(32)),
    Column("role", String(32)),
    Column("tool", String(64)),
    Column("data", JSON, nullable=False),
)

phases = Table(
    "phases",
    metadata,
    run_key(),
    Column("round", Integer, primary_key=True),
    Column("phase", String(32), primary_key=True),
    Column("candidate", String(64), primary_key=True),
    Column("result", JSON, nullable=False),
    Column("started_at", String(32)),
    Column("at", String(32)),
)

rounds = Table(
    "rounds",
    metadata,
    run_key(),
    Column("round", Integer, primary_key=True),
    Column("decision", String(16)),
    Column("summary", Text),
    Column("version", String(16)),
    Column("plan", Text),
    Column("spend", JSON(none_as_null=True)),
    Column("started_at", String(32), nullable=False),
    Column("ended_at", String(32)),
)

candidates = Table(
    "candidates",
    metadata,
    run_key(),
    Column("candidate", String(32), primary_key=True),
    Column("round", Integer, nullable=False),
    Column("decision", String(16)),
    Column("artifact", JSON(none_as_null=True)),
    Column("proposal", JSON, nullable=False),
    Column("plan", JSON, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("reasons", JSON, nullable=False),
    Column("screen", JSON(none_as_null=True)),
    Column("certification", JSON(none_as_null=True)),
    Column("at", String(32), nullable=False),
    Index("candidates_by_round", "run", "round"),
)

looks = Table(
    "looks",
    metadata,
    run_key(),
    Column("candidate", String(64), primary_key=True),
    Column("stage", String(16), primary_key=True),
    Column("pairs", Integer, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("against", String(16), nullable=False),
    Column("wins", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("log_e", Float),
    Column("futility", Float),
    Column("threshold", Float),
    Column("ruling", String(16), nullable=False),
    Column("at", String(32), nullable=False),
    Index("looks_by_time", "run", "at"),
)

versions = Table(
    "versions",
    metadata,
    run_key(),
    Column("ordinal", Integer, primary_key=True),
    Column("version", String(16), nullable=False),
    Column("parent", String(16)),
    Column("round", Integer),
    Column("candidate", String(32)),
    Column("rows", Integer),
    Column("artifact", JSON, nullable=False),
    Column("at", String(32), nullable=False),
)

scores = Table(
    "scores",
    metadata,
    run_key(),
    Column("subject", String(32), primary_key=True),
    Column("set", String(16), primary_key=True),
    Column("split", String(64), primary_key=True),
    Column("mean", Float),
    Column("low", Float),
    Column("high", Float),
    Column("n", Integer, nullable=False),
    Column("missing", Integer, nullable=False),
)

reviews = Table(
    "reviews",
    metadata,
    run_key(),
    Column("candidate", String(32), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("passed", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", String(32), nullable=False),
    Index("reviews_by_time", "run", "at"),
)

claims = Table(
    "claims",
    metadata,
    run_key(),
    Column("claim", String(32), primary_key=True),
    Column("candidate", String(32), primary_key=True),
    Column("against", String(32), primary_key=True),
    Column("occasion", String(32), primary_key=True),
    Column("alpha", Float),
    Column("outcome", String(16), nullable=False),
    Column("at", String(32), nullable=False),
)

gates = Table(
    "gates",
    metadata,
    run_key(),
    Column("occasion", String(64), primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("document", JSON, nullable=False),
)

steers = Table(
    "steers",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("run", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("author", String(256), nullable=False),
    Column("status", String(16), nullable=False),
    Column("round", Integer),
    Column("at", String(32), nullable=False),
    Column("delivered_at", String(32)),
    Index("steers_by_run", "run", "id"),
)

directives = Table(
    "directives",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("run", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("author", String(256), nullable=False),
    Column("at", String(32), nullable=False),
    Index("directives_by_run", "run", "id"),
)

cursors = Table(
    "cursors",
    metadata,
    run_key(),
    Column("set", String(16), primary_key=True),
    Column("family", String(64), primary_key=True),
    Column("cursor", BigInteger, nullable=False),
)

uses = Table(
    "set_uses",
    metadata,
    run_key(),
    Column("set", String(16), primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("n", Integer, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("use_cap", Integer, nullable=False),
)

experiences = Table(
    "experiences",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("run", String(64), nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("round", Integer, nullable=False),
    Column("family", String(64), nullable=False),
    Column("goal", Text, nullable=False),
    Column("observed", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("feedback", Text, nullable=False),
    Column("improvement", Text, nullable=False),
    Column("gold", Text, nullable=False, server_default=""),
    Column("born", String(32), nullable=False),
    Column("rolled_back", Boolean, nullable=False),
    Index("experiences_once", "run", "content_hash", unique=True),
    Index("experiences_by_round", "run", "round", "id"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("approval_id", String(32), primary_key=True),
    Column("run", String(64), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("candidate", String(64), nullable=False),
    Column("occasion", String(64), nullable=False),
    Column("document", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", Text),
    Column("created_at", String(32), nullable=False),
    Column("decided_at", String(32)),
    Column("decided_by", String(256)),
    Index("approvals_once", "run", "kind", "candidate", "occasion", unique=True),
    Index("approvals_by_state", "state", "created_at"),
)
