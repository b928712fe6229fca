"""Runs of the store alone, for tests of approvals and samples: who asks, and what is recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from everloop.errors import ApprovalNeeded
from everloop.events import Json
from everloop.ledger import caps
from everloop.paths import Home
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import ALL, Permission
from everloop.settings import Settings
from everloop.store import approvals as stored
from everloop.store import runs as stored_runs
from everloop.store.database import Database
from everloop.store.runs import NewRun

ADMIN = Caller("user:1", "local", "local", ALL, "session")
AUTOMATION = replace(ADMIN, subject="key:2", permissions=ALL - {Permission.APPROVE, Permission.MANAGE})
STRANGER = replace(ADMIN, subject="user:3", project_id="other")


def place_on(database: Database, home: Path) -> Installation:
    return Installation(Settings(home=home, database_url=database.url), database, Home(home).create())


def recorded(place: Installation, run: str = "r", project: str = "local") -> None:
    names: dict[str, Any] = dict.fromkeys(("kind", "group", "level", "domain", "brief", "machine"), "x")
    empty: dict[str, Any] = {name: {} for name in ("owner", "limits", "stop", "options", "protocol")}
    fixed = {"mode": "live", "seed": 1, "rounds_target": 3, "goal": None, "protocol_sha256": "0"}
    new = NewRun(**names, **empty, **fixed, run=run, worst_case_usd=None, workspace_id="local", project_id=project)
    with place.database.write() as tx:
        stored_runs.create(tx, new)
        caps.open_caps(tx, run, {})


def waiting(place: Installation, run: str = "r", candidate: str = "r1c1", project: str = "local") -> str:
    """A run that is paused for an approval, and the approval's id."""
    recorded(place, run, project)
    asked(place, run, candidate)
    with place.database.write() as tx:
        stored_runs.update(tx, run, state="paused", error=ApprovalNeeded("it waits").to_json())
    return stored.id_of(run, "certification", candidate, f"certification-{candidate}")


def asked(place: Installation, run: str, candidate: str) -> None:
    document: Json = {"round": 1, "key": candidate, "baseline": "v0", "evidence": {"change": 0.1}}
    with place.database.write() as tx:
        stored.put(tx, run, "certification", candidate, occasion=f"certification-{candidate}", document=document)
