"""Workspaces, projects, people, keys, sessions, audit, approvals; jobs by an id of their own; runs by project"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from ulid import ULID

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ENDED = ("completed", "failed", "timeout", "cancelled", "lost")


def upgrade() -> None:
    """Apply."""
    _runs()
    _jobs()
    _people()
    _keys()
    _records()


def _text(name: str, length: int, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length=length), nullable=nullable)


def _runs() -> None:
    op.add_column("runs", _text("workspace_id", 128, nullable=True))
    op.add_column("runs", _text("project_id", 128, nullable=True))
    op.create_index("runs_of_project", "runs", ["project_id", "updated_at", "run"])
    runs = sa.table(
        "runs", sa.column("run"), sa.column("owner", sa.JSON), sa.column("workspace_id"), sa.column("project_id")
    )
    tx = op.get_bind()
    for run, owner in tx.execute(sa.select(runs.c.run, runs.c.owner)).all():
        scope = {name: (owner or {}).get(name) for name in ("workspace_id", "project_id")}
        tx.execute(sa.update(runs).where(runs.c.run == run).values(**scope))


def _jobs() -> None:
    op.add_column("jobs", _text("job_id", 32, nullable=True))
    for name, length in (("workspace_id", 128), ("project_id", 128), ("label_run", 256), ("request_id", 128)):
        op.add_column("jobs", _text(name, length, nullable=True))
    op.add_column("jobs", _text("subject", 256, nullable=True))
    op.add_column("jobs", sa.Column("spec", sa.JSON(), nullable=True))
    op.add_column("jobs", sa.Column("stop_requested", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("jobs", _text("host", 256, nullable=True))
    op.add_column("jobs", _text("finished_at", 32, nullable=True))
    _number_jobs()
    with op.batch_alter_table("jobs") as jobs:
        jobs.alter_column("job_id", existing_type=sa.String(length=32), nullable=False)
        jobs.alter_column("stop_requested", existing_type=sa.Boolean(), server_default=None)
    op.create_index("jobs_by_id", "jobs", ["job_id"], unique=True)
    op.create_index("jobs_of_project", "jobs", ["project_id", "created_at", "job_id"])
    op.create_index("jobs_of_label", "jobs", ["project_id", "label_run", "created_at", "job_id"])
    op.create_index("jobs_by_request", "jobs", ["project_id", "request_id"], unique=True)
    op.create_index("jobs_by_state", "jobs", ["state", "stop_requested"])


def _number_jobs() -> None:
    """Give the jobs there are an id, their run's project, and the time they ended."""
    names = ("run", "job", "job_id", "workspace_id", "project_id", "label_run", "state", "updated_at", "finished_at")
    jobs = sa.table("jobs", *(sa.column(name) for name in names))
    runs = sa.table("runs", sa.column("run"), sa.column("workspace_id"), sa.column("project_id"))
    tx = op.get_bind()
    scopes = {run: (workspace, project) for run, workspace, project in tx.execute(sa.select(runs)).all()}
    for run, job in tx.execute(sa.select(jobs.c.run, jobs.c.job)).all():
        workspace, project = scopes.get(run, (None, None))
        values = {"job_id": f"job_{ULID()}", "workspace_id": workspace, "project_id": project, "label_run": run}
        tx.execute(sa.update(jobs).where(jobs.c.run == run, jobs.c.job == job).values(**values))
    tx.execute(sa.update(jobs).where(jobs.c.state.in_(_ENDED)).values(finished_at=jobs.c.updated_at))


def _people() -> None:
    op.create_table(
        "workspaces",
        _text("workspace_id", 128),
        _text("name", 256),
        _text("created_at", 32),
        sa.PrimaryKeyConstraint("workspace_id"),
    )
    op.create_table(
        "projects",
        _text("project_id", 128),
        _text("workspace_id", 128),
        _text("name", 256),
        _text("created_at", 32),
        sa.PrimaryKeyConstraint("project_id"),
    )
    op.create_index("projects_of_workspace", "projects", ["workspace_id", "created_at"])
    op.create_table(
        "users",
        _text("user_id", 32),
        _text("email", 320, nullable=True),
        _text("name", 256),
        sa.Column("password", sa.Text(), nullable=True),
        _text("issuer", 512, nullable=True),
        _text("issuer_subject", 256, nullable=True),
        _text("created_at", 32),
        _text("disabled_at", 32, nullable=True),
        sa.PrimaryKeyConstraint("user_id"),
    )
    op.create_index("users_by_email", "users", ["email"], unique=True)
    op.create_index("users_by_issuer", "users", ["issuer", "issuer_subject"], unique=True)
    op.create_table(
        "members",
        _text("project_id", 128),
        _text("user_id", 32),
        _text("role", 16),
        _text("created_at", 32),
        sa.PrimaryKeyConstraint("project_id", "user_id"),
    )
    op.create_index("members_by_user", "members", ["user_id", "created_at"])


def _keys() -> None:
    op.create_table(
        "api_keys",
        _text("prefix", 16),
        _text("hash", 64),
        _text("workspace_id", 128),
        _text("project_id", 128),
        _text("name", 128),
        _text("kind", 16),
        sa.Column("permissions", sa.JSON(), nullable=False),
        _text("created_by", 256),
        _text("created_at", 32),
        _text("expires_at", 32, nullable=True),
        _text("revoked_at", 32, nullable=True),
        _text("used_at", 32, nullable=True),
        sa.PrimaryKeyConstraint("prefix"),
    )
    op.create_index("api_keys_of_project", "api_keys", ["project_id", "created_at"])
    op.create_table(
        "sessions",
        _text("prefix", 16),
        _text("hash", 64),
        _text("user_id", 32),
        _text("project_id", 128, nullable=True),
        _text("created_at", 32),
        _text("expires_at", 32),
        _text("revoked_at", 32, nullable=True),
        _text("used_at", 32, nullable=True),
        sa.PrimaryKeyConstraint("prefix"),
    )
    op.create_index("sessions_of_user", "sessions", ["user_id", "created_at"])
    op.create_table(
        "sign_in_links",
        _text("prefix", 16),
        _text("hash", 64),
        _text("user_id", 32),
        _text("created_at", 32),
        _text("expires_at", 32),
        _text("used_at", 32, nullable=True),
        sa.PrimaryKeyConstraint("prefix"),
    )
    op.create_table(
        "grants",
        _text("grant_id", 36),
        _text("key_hash", 64),
        _text("poll_hash", 64),
        _text("code_hash", 64),
        _text("state", 16),
        _text("workspace_id", 128, nullable=True),
        _text("project_id", 128, nullable=True),
        _text("user_id", 32, nullable=True),
        _text("created_at", 32),
        _text("expires_at", 32),
        _text("decided_at", 32, nullable=True),
        sa.PrimaryKeyConstraint("grant_id"),
    )


def _records() -> None:
    op.create_table(
        "audit",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        _text("at", 32),
        _text("workspace_id", 128, nullable=True),
        _text("project_id", 128, nullable=True),
        _text("subject", 256, nullable=True),
        _text("surface", 16),
        _text("action", 128),
        _text("target", 256, nullable=True),
        sa.Column("status", sa.Integer(), nullable=False),
        _text("code", 128, nullable=True),
        _text("request_id", 64, nullable=True),
        _text("address", 64, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("audit_of_project", "audit", ["project_id", "id"])
    op.create_table(
        "approvals",
        _text("approval_id", 32),
        _text("run", 64),
        _text("kind", 32),
        _text("candidate", 64),
        _text("occasion", 64),
        sa.Column("document", sa.JSON(), nullable=False),
        _text("state", 16),
        sa.Column("reason", sa.Text(), nullable=True),
        _text("created_at", 32),
        _text("decided_at", 32, nullable=True),
        _text("decided_by", 256, nullable=True),
        sa.PrimaryKeyConstraint("approval_id"),
    )
    op.create_index("approvals_once", "approvals", ["run", "kind", "candidate", "occasion"], unique=True)
    op.create_index("approvals_by_state", "approvals", ["state", "created_at"])
