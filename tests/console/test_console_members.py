"""The page of members, for an Admin, by real requests to a real server."""

from __future__ import annotations

import re

import pytest
from visiting import Reader, Site

from everloop.console.numbered import ROWS
from everloop.service import people
from everloop.service.caller import LOCAL
from everloop.service.permissions import Role
from everloop.store import members as enrolled
from everloop.store import users


@pytest.fixture
def project(site: Site, reader: Reader) -> str:
    """A project of its own whose Admin the reader is."""
    made = site.project()
    reader.enter((made, Role.ADMIN))
    return made


def shown(reader: Reader) -> list[str]:
    return re.findall(r'<tr id="(\w+)">', reader.page.text)


def test_members_are_listed_with_role_and_since_when(site: Site, reader: Reader, project: str) -> None:
    email, user_id = site.person((project, Role.DEVELOPER), password=None)
    reader.get(f"/local/{project}/members")
    assert len(shown(reader)) == 2 and shown(reader)[1] == user_id and "2 members" in reader.text
    assert re.search(rf"Ada <Lovelace> {email} Developer 20\S+ \S+ UTC active", reader.text)


def test_one_sees_which_member_one_is(reader: Reader, project: str) -> None:
    reader.get(f"/local/{project}/members")
    assert "1 member " in reader.text and reader.text.count("(you)") == 1


def test_who_may_not_sign_in_any_more_is_marked(site: Site, reader: Reader, project: str) -> None:
    _, user_id = site.person((project, Role.VIEWER), password=None)
    people.disable_user(site.place, user_id, LOCAL)
    reader.get(f"/local/{project}/members")
    assert re.search(r"Viewer 20\S+ \S+ UTC disabled 20\S+ \S+ UTC", reader.text)


def test_somebody_without_a_name_or_an_address_has_a_row(site: Site, reader: Reader, project: str) -> None:
    with site.place.database.write() as tx:
        users.create(tx, "user_bare", name="")
        enrolled.put(tx, project, "user_bare", "viewer")
    reader.get(f"/local/{project}/members")
    assert "user_bare — Viewer" in reader.text


def test_members_of_other_projects_are_not_shown(site: Site, reader: Reader, project: str) -> None:
    _, user_id = site.person((site.project(), Role.ADMIN), password=None)
    reader.get(f"/local/{project}/members")
    assert user_id not in reader.page.text and len(shown(reader)) == 1


def test_very_many_members_come_in_pages_that_hold_each_once(site: Site, reader: Reader, project: str) -> None:
    with site.place.database.write() as tx:
        for n in range(1000):
            users.create(tx, f"user_m{project}{n}".replace("-", ""), name=f"Member {n}")
            enrolled.put(tx, project, f"user_m{project}{n}".replace("-", ""), "viewer")
    reader.get(f"/local/{project}/members")
    seen, sizes = shown(reader), [len(shown(reader))]
    while found := re.search(r'rel="next" href="([^"]*)"', reader.page.text):
        reader.get(found[1])
        seen += shown(reader)
        sizes.append(len(shown(reader)))
    assert sizes == [ROWS] * 10 + [1] and len(set(seen)) == 1001
