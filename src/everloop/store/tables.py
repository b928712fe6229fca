"""Every table of ours. Runs own rows by (run, ...) keys, so that each query reads one index range."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

_ID = BigInteger().with_variant(Integer, "sqlite")


def _run() -> Column[str]:
    return Column("run", String(64), primary_key=True)


runs = Table(
    "runs",
    metadata,
    _run(),
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
)

events = Table(
    "events",
    metadata,
    _run(),
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
    _run(),
    Column("round", Integer, primary_key=True),
    Column("phase", String(32), primary_key=True),
    Column("candidate", String(64), primary_key=True),
    Column("result", JSON, nullable=False),
)

rounds = Table(
    "rounds",
    metadata,
    _run(),
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
    _run(),
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

versions = Table(
    "versions",
    metadata,
    _run(),
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
    _run(),
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
    _run(),
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
    _run(),
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
    _run(),
    Column("occasion", String(64), primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("document", JSON, nullable=False),
)

steers = Table(
    "steers",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
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
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("author", String(256), nullable=False),
    Column("at", String(32), nullable=False),
    Index("directives_by_run", "run", "id"),
)

jobs = Table(
    "jobs",
    metadata,
    _run(),
    Column("job", String(64), primary_key=True),
    Column("round", Integer, nullable=False),
    Column("purpose", String(32), nullable=False),
    Column("method", String(32), nullable=False),
    Column("labels", JSON, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("launcher", String(32), nullable=False),
    Column("state", String(16), nullable=False),
    Column("returncode", Integer),
    Column("reason", Text),
    Column("seconds", Float),
    Column("reserved_micros", BigInteger, nullable=False),
    Column("job_id", String(32), nullable=False),
    Column("workspace_id", String(128)),
    Column("project_id", String(128)),
    Column("label_run", String(256)),
    Column("request_id", String(128)),
    Column("subject", String(256)),
    Column("spec", JSON(none_as_null=True)),
    Column("stop_requested", Boolean, nullable=False),
    Column("host", String(256)),
    Column("created_at", String(32), nullable=False),
    Column("updated_at", String(32), nullable=False),
    Column("finished_at", String(32)),
    Index("jobs_by_time", "run", "created_at"),
    Index("jobs_by_id", "job_id", unique=True),
    Index("jobs_of_project", "project_id", "created_at", "job_id"),
    Index("jobs_of_label", "project_id", "label_run", "created_at", "job_id"),
    Index("jobs_by_request", "project_id", "request_id", unique=True),
    Index("jobs_by_state", "state", "stop_requested"),
)

cursors = Table(
    "cursors",
    metadata,
    _run(),
    Column("set", String(16), primary_key=True),
    Column("family", String(64), primary_key=True),
    Column("cursor", BigInteger, nullable=False),
)

uses = Table(
    "set_uses",
    metadata,
    _run(),
    Column("set", String(16), primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("n", Integer, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("use_cap", Integer, nullable=False),
)

experiences = Table(
    "experiences",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
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

workers = Table(
    "workers",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("host", String(256), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", String(32), nullable=False),
    Column("heartbeat", Float, nullable=False),
    Column("fenced", Boolean, nullable=False),
    Index("workers_by_life", "fenced", "id"),
    sqlite_autoincrement=True,
)

caps = Table(
    "caps",
    metadata,
    _run(),
    Column("cap", String(32), primary_key=True),
    Column("limit", BigInteger),
    Column("reserved", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
)

reservations = Table(
    "reservations",
    metadata,
    _run(),
    Column("key", String(128), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("reserved", JSON, nullable=False),
    Column("actual", JSON(none_as_null=True)),
    Column("at", String(32), nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("ordinal", Integer, nullable=False),
    Column("document", JSON, nullable=False),
    Column("at", String(32), nullable=False),
)

calls = Table(
    "calls",
    metadata,
    _run(),
    Column("call", String(192), primary_key=True),
    Column("model", String(64), nullable=False),
    Column("purpose", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("open_micros", BigInteger),
    Column("spent_micros", BigInteger, nullable=False),
    Column("response", Text),
    Column("at", String(32), nullable=False),
)

gateway_keys = Table(
    "gateway_keys",
    metadata,
    Column("prefix", String(16), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("account", String(64), nullable=False),
    Column("models", JSON, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32)),
    Column("revoked_at", String(32)),
    Column("used_at", String(32)),
)

labels = Table(
    "labels",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("source", String(32), nullable=False),
    Column("change", JSON, nullable=False),
    Column("good", Boolean, nullable=False),
    Column("author", String(256), nullable=False),
    Column("at", String(32), nullable=False),
    Index("labels_by_source", "source", "id"),
)

calibrations = Table(
    "calibrations",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("document", JSON, nullable=False),
    Column("at", String(32), nullable=False),
)

workspaces = Table(
    "workspaces",
    metadata,
    Column("workspace_id", String(128), primary_key=True),
    Column("name", String(256), nullable=False),
    Column("created_at", String(32), nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("project_id", String(128), primary_key=True),
    Column("workspace_id", String(128), nullable=False),
    Column("name", String(256), nullable=False),
    Column("created_at", String(32), nullable=False),
    Index("projects_of_workspace", "workspace_id", "created_at"),
)

users = Table(
    "users",
    metadata,
    Column("user_id", String(32), primary_key=True),
    Column("email", String(320)),
    Column("name", String(256), nullable=False),
    Column("password", Text),
    Column("issuer", String(512)),
    Column("issuer_subject", String(256)),
    Column("created_at", String(32), nullable=False),
    Column("disabled_at", String(32)),
    Index("users_by_email", "email", unique=True),
    Index("users_by_issuer", "issuer", "issuer_subject", unique=True),
)

members = Table(
    "members",
    metadata,
    Column("project_id", String(128), primary_key=True),
    Column("user_id", String(32), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("created_at", String(32), nullable=False),
    Index("members_by_user", "user_id", "created_at"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("prefix", String(16), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("workspace_id", String(128), nullable=False),
    Column("project_id", String(128), nullable=False),
    Column("name", String(128), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("permissions", JSON, nullable=False),
    Column("created_by", String(256), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32)),
    Column("revoked_at", String(32)),
    Column("used_at", String(32)),
    Index("api_keys_of_project", "project_id", "created_at"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("prefix", String(16), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("project_id", String(128)),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32), nullable=False),
    Column("revoked_at", String(32)),
    Column("used_at", String(32)),
    Index("sessions_of_user", "user_id", "created_at"),
)

sign_in_links = Table(
    "sign_in_links",
    metadata,
    Column("prefix", String(16), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32), nullable=False),
    Column("used_at", String(32)),
)

grants = Table(
    "grants",
    metadata,
    Column("grant_id", String(36), primary_key=True),
    Column("key_hash", String(64), nullable=False),
    Column("poll_hash", String(64), nullable=False),
    Column("code_hash", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("workspace_id", String(128)),
    Column("project_id", String(128)),
    Column("user_id", String(32)),
    Column("created_at", String(32), nullable=False),
    Column("expires_at", String(32), nullable=False),
    Column("decided_at", String(32)),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("at", String(32), nullable=False),
    Column("workspace_id", String(128)),
    Column("project_id", String(128)),
    Column("subject", String(256)),
    Column("surface", String(16), nullable=False),
    Column("action", String(128), nullable=False),
    Column("target", String(256)),
    Column("status", Integer, nullable=False),
    Column("code", String(128)),
    Column("request_id", String(64)),
    Column("address", String(64)),
    Index("audit_of_project", "project_id", "id"),
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
