from __future__ import annotations

import re
from pathlib import Path

import pytest
from access_world import installation_on, other_project, person, signed_in, user

from everloop.errors import AccessDenied, InvalidRequest, NotFound, ProjectAccessDenied, StateConflict
from everloop.service import access, keys, people, projects
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import Role
from everloop.store.database import Database


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    return installation_on(database, tmp_path / "home")


def seen(installation: Installation, caller: object) -> tuple[list[str], list[str]]:
    from everloop.service.caller import Caller

    assert isinstance(caller, Caller)
    inside = [one.project_id for one in projects.listing(installation, caller)]
    return inside, [one.workspace_id for one in projects.workspaces(installation, caller)]


def test_each_caller_sees_its_own_projects_and_their_workspaces(installation: Installation) -> None:
    project = other_project(installation)
    key, _ = keys.create_key(installation, KeyRequest(), LOCAL, project)
    user_id = user(installation, "a@b.c", Role.VIEWER)
    assert seen(installation, LOCAL) == (["local", project], ["local", "acme"])
    assert seen(installation, access.authenticate(installation, key)) == ([project], ["acme"])
    assert seen(installation, signed_in(installation, user_id)) == (["local"], ["local"])
    people.set_member(installation, project, user_id, Role.VIEWER, LOCAL)
    assert seen(installation, signed_in(installation, user_id)) == (["local", project], ["local", "acme"])
    assert seen(installation, person(installation, "d@e.f", None)) == ([], [])


def test_a_project_that_is_not_seen_is_not_there(installation: Installation) -> None:
    project, viewer = other_project(installation), person(installation, "a@b.c", Role.VIEWER)
    assert projects.get_project(installation, "local", viewer).name == "Local"
    for unseen in (project, "none", "\0"):
        with pytest.raises(NotFound, match=re.escape(repr(unseen))):
            projects.get_project(installation, unseen, viewer)


def test_an_admin_who_makes_a_project_is_its_admin(installation: Installation) -> None:
    admin = person(installation, "a@b.c", Role.ADMIN)
    made = projects.create_project(installation, "x:1", "", None, admin)
    assert (made.workspace_id, made.name) == ("local", "x:1")
    (row,) = people.members(installation, LOCAL, "x:1")
    assert (f"user:{row.user_id}", row.role) == (admin.subject, "admin")


def test_nobody_makes_a_project_without_managing_one(installation: Installation) -> None:
    key, _ = keys.create_key(installation, KeyRequest(), LOCAL)
    for caller in (person(installation, "a@b.c", Role.DEVELOPER), access.authenticate(installation, key)):
        with pytest.raises(AccessDenied):
            projects.create_project(installation, "x", "", None, caller)


def test_a_project_is_made_in_the_caller_s_workspace(installation: Installation) -> None:
    other_project(installation)
    admin = person(installation, "a@b.c", Role.ADMIN)
    with pytest.raises(ProjectAccessDenied):
        projects.create_project(installation, "x", "", "acme", admin)
    assert projects.create_project(installation, "x", "", "acme", LOCAL).workspace_id == "acme"
    assert projects.create_project(installation, "y", "Why", None, LOCAL).name == "Why"


def test_workspaces_are_made_on_this_machine_only(installation: Installation) -> None:
    with pytest.raises(AccessDenied):
        projects.create_workspace(installation, "w", "", person(installation, "a@b.c", Role.ADMIN))
    assert projects.create_workspace(installation, "w", "", LOCAL).name == "w"


def test_an_id_is_taken_once(installation: Installation) -> None:
    with pytest.raises(StateConflict):
        projects.create_project(installation, "local", "", None, LOCAL)
    with pytest.raises(StateConflict):
        projects.create_workspace(installation, "local", "", LOCAL)


@pytest.mark.parametrize("wrong", ["", "a b", "a/b", "é", "x" * 129, "a\n", "a.b", "\0"])
def test_an_id_that_a_client_could_not_name_is_refused(installation: Installation, wrong: str) -> None:
    with pytest.raises(InvalidRequest):
        projects.create_project(installation, wrong, "", None, LOCAL)
    with pytest.raises(InvalidRequest):
        projects.create_workspace(installation, wrong, "", LOCAL)
    with pytest.raises(NotFound):
        projects.create_project(installation, "x", "", wrong or "none", LOCAL)


def test_a_workspace_takes_no_colon_and_a_project_does(installation: Installation) -> None:
    with pytest.raises(InvalidRequest):
        projects.create_workspace(installation, "a:b", "", LOCAL)
    assert projects.create_project(installation, "a:b", "", None, LOCAL)


@pytest.mark.parametrize("name", ["x" * 257, "a\nb"])
def test_a_name_is_a_short_line(installation: Installation, name: str) -> None:
    with pytest.raises(InvalidRequest):
        projects.create_project(installation, "x", name, None, LOCAL)
