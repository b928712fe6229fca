"""Two projects side by side, each with one of everything there is, and everybody who may knock at one of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from calling import Api, Session
from mcp_calling import start
from submitting import put

from everloop.events import Event, EventKind, Json
from everloop.paths import Home
from everloop.service import checkpoints, downloads, keys, people, run_messages, run_start
from everloop.service.caller import LOCAL, Caller
from everloop.service.keys import KeyRequest
from everloop.service.permissions import ALL, KeyKind, Permission, Role
from everloop.service.request import StartRequest
from everloop.service.samples import Week
from everloop.store import approvals, candidates, events, members, rounds, tables
from everloop.store import runs as stored_runs
from everloop.students.base import Manifest
from everloop.students.checkpoints import save
from everloop.values import utcnow

Contents = dict[str, list[tuple[Any, ...]]]
"""Table, or ``files`` -> what is in it."""
UNCOMPARED = ("used_at",)
"""Columns that a mere look may change."""


@dataclass(frozen=True)
class Side:
    """One project with what it holds."""

    mark: str
    """A word in every text of the project: brief, labels, names, addresses, log, weights."""
    targets: dict[str, str]
    """Placeholder of a path or body -> id."""

    @property
    def words(self) -> set[str]:
        """What nobody outside may read."""
        shared = {"workspace", "job", "user"}
        ids = {value for name, value in self.targets.items() if name not in shared and name.endswith("_id")}
        named = {self.targets[name] for name in ("run", "halted", "prefix", "token")}
        return {self.mark, *ids, *named}


def side(api: Api, project: str, mark: str, workspace: str = "local") -> Side:
    """Fill a project: runs, jobs that ended, checkpoints, an approval, a rejected candidate, keys, members."""
    owner = Caller("user:owner", workspace, project, ALL, "session")
    waiting, halted = _run(api, owner, f"{mark}-run", mark), _run(api, owner, f"{mark}-halted", mark)
    job, spare, gone = (_job(api, project, mark, waiting) for _ in range(3))
    operation = str(checkpoints.delete(api.place, _checkpoint(gone), owner)["operation_id"])
    user, leaving = (_person(api, project, f"{name}@{mark}.example", mark) for name in ("member", "leaving"))
    _, key = keys.create_key(api.place, KeyRequest(name=f"{mark} key"), LOCAL, project)
    approval = approvals.id_of(waiting, "certification", "r1c1", "certification-r1c1")
    made = Side(
        mark,
        {
            "workspace": workspace,
            "project_id": project,
            "run": waiting,
            "halted": halted,
            "candidate": "r1c1",
            "approval_id": approval,
            "job_id": job,
            "trial_id": "trial_" + job.removeprefix("job_"),
            "checkpoint_id": _checkpoint(job),
            "parent": f"envloop://{job}/{_checkpoint(job)}",
            "spare_id": _checkpoint(spare),
            "operation_id": operation,
            "user_id": user,
            "leaving_id": leaving,
            "prefix": key.prefix,
            "token": downloads.sign(api.place.home, job, "manifest.json"),
            "week": str(Week.of(utcnow())),
        },
    )
    prepare(api, made)
    return made


def _run(api: Api, owner: Caller, name: str, mark: str) -> str:
    """A run of one round whose candidate was rejected, which waits for a person's word."""
    rationale = {**dict.fromkeys(("why", "expected_gain", "risks"), "-"), "what": f"{mark} rows"}
    proposal: Json = {"plan": {"kind": "rows"}, "diff": mark, "rationale": rationale, "interventions": []}
    asked: Json = {"round": 1, "baseline": "v0", "judge": {"id": mark, "version": "1"}, "sha256": "0" * 64}
    run_start.start(api.place, StartRequest.from_json(start(name, brief=f"Improve the {mark}.")), owner)
    run_messages.add_directive(api.place, name, f"Mind the {mark}.", owner)
    with api.place.database.write() as tx:
        rounds.begin(tx, name, 1)
        spend = dict.fromkeys(("model_usd", "gpu_usd", "total_usd", "model_requests", "student_requests"), 0)
        done = {"decision": "rejected", "summary": f"No {mark}.", "version": None, "plan": mark, "spend": spend}
        rounds.finish(tx, name, 1, **done)  # type: ignore[arg-type]  # one dict of the columns
        candidates.put(tx, name, "r1c1", round=1, proposal=proposal, fingerprint="0" * 64)
        candidates.update(tx, name, "r1c1", decision="rejected", reasons=[f"It breaks the {mark}."])
        approvals.put(tx, name, "certification", "r1c1", occasion="certification-r1c1", document=asked)
        events.append(tx, name, Event(EventKind.MESSAGE, f"the {mark} event"))
    return name


def _job(api: Api, project: str, mark: str, run: str) -> str:
    """A submitted job that ended, with its log and checkpoint."""
    (job,) = put(api.place, project=project, labels={"rsi_run": run, "note": mark}, state="completed")
    with api.place.database.write() as tx:
        tx.execute(sa.update(tables.jobs).where(tables.jobs.c.job_id == job).values(workspace_id="local"))
    paths = api.place.home.job(job)
    paths.outputs.mkdir(parents=True)
    paths.log.parent.mkdir(parents=True, exist_ok=True)
    paths.log.write_text(f"step 1 of the {mark}\n")
    weights = f"weights of the {mark}".encode()
    save(paths.outputs / "checkpoint", weights, "weights.safetensors", _manifest)
    return job


def _manifest(sha: str) -> Manifest:
    return Manifest("nano", sha, None, None, 4, 0, {}, 1, "cpu", {})


def _checkpoint(job: str) -> str:
    return "ckpt_" + job.removeprefix("job_")


def _person(api: Api, project: str, email: str, mark: str) -> str:
    user = people.create_user(api.place, email, f"Person of the {mark}", None, LOCAL)
    people.set_member(api.place, project, user.user_id, Role.DEVELOPER, LOCAL)
    return user.user_id


def prepare(api: Api, found: Side) -> None:
    """Put back what a call that may be made uses up."""
    with api.place.database.write() as tx:
        stored_runs.update(tx, found.targets["halted"], state="stopped")
        pending: dict[str, Any] = dict.fromkeys(("reason", "decided_at", "decided_by")) | {"state": "pending"}
        here = tables.approvals.c.run == found.targets["run"]
        tx.execute(sa.update(tables.approvals).where(here).values(**pending))
        # what is halted waits for nobody, or it could not be resumed
        halted = tables.approvals.c.run == found.targets["halted"]
        tx.execute(sa.update(tables.approvals).where(halted).values(state="rejected"))
        members.put(tx, found.targets["project_id"], found.targets["leaving_id"], "developer")


@dataclass(frozen=True)
class Callers:
    """Everybody, by the names of the table."""

    known: dict[str, str | Session | None]
    """Name -> what they send; None: nothing."""


def callers(api: Api) -> Callers:
    """Keys of every kind and people of every role in the project ``local``, good ones and bad ones."""
    read, run, stop, approve = Permission.READ, Permission.RUN, Permission.STOP, Permission.APPROVE
    admin = api.person(Role.ADMIN)
    stranger, disabled = api.person(Role.ADMIN), api.person(Role.DEVELOPER)
    people.remove_member(api.place, "local", stranger.user_id, LOCAL)
    people.disable_user(api.place, disabled.user_id, LOCAL)
    revoked, expired = api.key(fresh=True), api.key(fresh=True)
    keys.revoke_key(api.place, revoked, LOCAL)
    _expire(api, expired)
    return Callers(
        {
            "nobody": None,
            "read-only key": api.key(KeyKind.READ_ONLY),
            "automation key": api.key(),
            "key without stop": api.key(KeyKind.CUSTOM, read, run, approve),
            "key with stop alone": api.key(KeyKind.CUSTOM, stop),
            "key that approves": api.key(KeyKind.CUSTOM, read, approve),
            "viewer": api.person(Role.VIEWER),
            "developer": api.person(Role.DEVELOPER),
            "admin": admin,
            "no member": stranger,
            "revoked key": revoked,
            "expired key": expired,
            "disabled person": Session(disabled.token, disabled.user_id),
        }
    )


def _expire(api: Api, key: str) -> None:
    with api.place.database.write() as tx:
        here = tables.api_keys.c.hash == hashlib.sha256(key.encode()).hexdigest()
        done = tx.execute(sa.update(tables.api_keys).where(here).values(expires_at="2020-01-01T00:00:00.000000Z"))
        assert done.rowcount == 1


def contents(api: Api) -> Contents:
    """Every row of every table but the audit log, and every file's size and time but the database's."""
    found: Contents = {}
    with api.place.database.read() as tx:
        for name, query in _QUERIES.items():
            found[name] = [tuple(row) for row in tx.exec_driver_sql(query)]
    found["files"] = _files(api.place.home)
    return found


def _query(table: sa.Table) -> str:
    """A statement whose rows are not decoded: hundreds of comparisons are made."""
    columns = [f'"{column.name}"' for column in table.c if column.name not in UNCOMPARED]
    key = ", ".join(f'"{column.name}"' for column in table.primary_key)
    return f'SELECT {", ".join(columns)} FROM "{table.name}" ORDER BY {key}'


_QUERIES = {table.name: _query(table) for table in tables.metadata.sorted_tables if table.name != "audit"}


def _files(home: Home) -> list[tuple[Any, ...]]:
    paths = sorted(path for path in home.root.rglob("*") if path.is_file() and ".db" not in path.name)
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
