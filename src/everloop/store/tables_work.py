"""What runs work with: jobs, workers, money, models, and what is learnt about candidates."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Index, Integer, String, Table, Text

from everloop.store._columns import ID, metadata, run_key

jobs = Table(
    "jobs",
    metadata,
    run_key(),
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

workers = Table(
    "workers",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
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
    run_key(),
    Column("cap", String(32), primary_key=True),
    Column("limit", BigInteger),
    Column("reserved", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
)

reservations = Table(
    "reservations",
    metadata,
    run_key(),
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
    run_key(),
    Column("call", String(192), primary_key=True),
    Column("model", String(64), nullable=False),
    Column("purpose", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("open_micros", BigInteger),
    Column("spent_micros", BigInteger, nullable=False),
    Column("response", Text),
    Column("at", String(32), nullable=False),
)

labels = Table(
    "labels",
    metadata,
    Column("id", ID, primary_key=True, autoincrement=True),
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
    Column("id", ID, primary_key=True, autoincrement=True),
    Column("document", JSON, nullable=False),
    Column("at", String(32), nullable=False),
)
