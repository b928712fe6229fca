"""An installation with people in it, for tests of who may do what."""

from __future__ import annotations

from pathlib import Path

from everloop.paths import Home
from everloop.service import access, first_start, people, projects, sessions
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Role
from everloop.settings import Settings
from everloop.store.database import Database


def installation_on(database: Database, home: Path) -> Installation:
    made = Installation(Settings(home=home, database_url=database.url), database, Home(home).create())
    first_start.ensure(made)
    return made


def user(installation: Installation, email: str, role: Role | None, project_id: str = "local") -> str:
    user_id = people.create_user(installation, email, "", None, LOCAL).user_id
    if role is not None:
        people.set_member(installation, project_id, user_id, role, LOCAL)
    return user_id


def signed_in(installation: Installation, user_id: str) -> Caller:
    return access.authenticate_session(installation, sessions.sign_in_user(installation, user_id)[0])


def person(installation: Installation, email: str, role: Role | None, project_id: str = "local") -> Caller:
    return signed_in(installation, user(installation, email, role, project_id))


def other_project(installation: Installation) -> str:
    projects.create_workspace(installation, "acme", "Acme", LOCAL)
    return projects.create_project(installation, "team:a", "Team A", "acme", LOCAL).project_id
