from __future__ import annotations

from pathlib import Path

import pytest

from everloop.errors import AccessDenied
from everloop.paths import Home
from everloop.service import access, first_start, people, projects, sessions
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Role
from everloop.service.person import Membership, person_of
from everloop.settings import Settings
from everloop.store.database import Database


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    home = Home(tmp_path / "home").create()
    made = Installation(Settings(home=home.root, database_url=database.url), database, home)
    first_start.ensure(made)
    return made


def test_a_person_sees_who_they_are_and_what_in_which_project(installation: Installation) -> None:
    projects.create_project(installation, "kernels", "Kernels", None, LOCAL)
    user = people.create_user(installation, "ada@example.org", "Ada", None, LOCAL)
    for project_id, role in (("local", Role.VIEWER), ("kernels", Role.ADMIN)):
        people.set_member(installation, project_id, user.user_id, role, LOCAL)
    token, _ = sessions.sign_in_user(installation, user.user_id)
    found = person_of(installation, access.authenticate_session(installation, token))
    assert (found.user_id, found.name, found.email) == (user.user_id, "Ada", "ada@example.org")
    assert found.memberships == (
        Membership("local", "Local", "local", Role.VIEWER),
        Membership("kernels", "Kernels", "local", Role.ADMIN),
    )


@pytest.mark.parametrize("caller", [LOCAL, Caller("key:x", "local", "local"), Caller("user:gone", method="session")])
def test_a_key_and_somebody_who_is_gone_are_no_person(installation: Installation, caller: Caller) -> None:
    with pytest.raises(AccessDenied):
        person_of(installation, caller)
