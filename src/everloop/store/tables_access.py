"""Who may do what: workspaces, people, keys, sessions, the audit log."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, String, Table, Text

from everloop.store._columns import ID, metadata

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
    Column("id", ID, primary_key=True, autoincrement=True),
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
