"""The page of API keys, for an Admin, by real requests to a real server."""

from __future__ import annotations

import re

import pytest
from visiting import Reader, Site

from everloop.console.numbered import ROWS
from everloop.service import access, keys
from everloop.service.caller import LOCAL, Caller
from everloop.service.keys import KeyRequest
from everloop.service.permissions import ALL, KeyKind, Role


@pytest.fixture
def project(site: Site, reader: Reader) -> str:
    """A project of its own whose Admin the reader is."""
    made = site.project()
    reader.enter((made, Role.ADMIN))
    return made


def shown(reader: Reader) -> list[str]:
    return re.findall(r'<tr id="(\w+)">', reader.page.text)


def test_keys_are_listed_newest_first_with_what_they_may_and_until_when(
    site: Site, reader: Reader, project: str
) -> None:
    _, first = keys.create_key(site.place, KeyRequest(name="nightly <ci>", expires_days=30), LOCAL, project)
    request = KeyRequest(kind=KeyKind.CUSTOM, permissions=["read", "training.approve"])
    _, second = keys.create_key(site.place, request, LOCAL, project)
    reader.get(f"/local/{project}/keys")
    assert shown(reader) == [second.prefix, first.prefix] and "2 keys" in reader.text
    assert "nightly <ci> project automation read training.run training.stop never" in reader.text
    assert "active — custom read training.approve never never" in reader.text
    assert "UTC by local" in reader.text


def test_no_page_holds_a_key_or_its_hash(site: Site, reader: Reader, project: str) -> None:
    made, row = keys.create_key(site.place, KeyRequest(), LOCAL, project)
    reader.get(f"/local/{project}/keys")
    assert row.prefix in reader.page.text
    secret = made.split("_", 2)[2]
    assert len(secret) > 20 and secret not in reader.page.text and row.hash not in reader.page.text


def test_a_revoked_an_expired_and_a_used_key_are_told_apart(site: Site, reader: Reader, project: str) -> None:
    _, gone = keys.create_key(site.place, KeyRequest(name="gone"), LOCAL, project)
    keys.create_key(site.place, KeyRequest(name="short", expires_days=1e-7), LOCAL, project)
    used, _ = keys.create_key(site.place, KeyRequest(name="busy"), LOCAL, project)
    keys.revoke_key(site.place, gone.prefix, LOCAL)
    access.authenticate(site.place, used)
    reader.get(f"/local/{project}/keys")
    assert re.search(r"revoked 20\S+ \S+ UTC gone", reader.text)
    assert "expired short" in reader.text and re.search(
        r"active busy project automation \S+ \S+ \S+ 20\S+ ", reader.text
    )


def test_whoever_made_a_key_is_told_by_name(site: Site, reader: Reader) -> None:
    project = site.project()
    user_id = reader.enter((project, Role.ADMIN))
    keys.create_key(site.place, KeyRequest(), Caller(f"user:{user_id}", "local", project, ALL, "session"))
    reader.get(f"/local/{project}/keys")
    assert "by Ada <Lovelace>" in reader.text and user_id not in reader.page.text


def test_keys_of_other_projects_are_not_shown(site: Site, reader: Reader, project: str) -> None:
    keys.create_key(site.place, KeyRequest(name="foreign"), LOCAL, site.project())
    reader.get(f"/local/{project}/keys")
    assert "This project has no keys" in reader.text and "foreign" not in reader.text


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER])
@pytest.mark.parametrize("page", ["keys", "members"])
def test_only_an_admin_sees_keys_and_members(site: Site, reader: Reader, role: Role, page: str) -> None:
    project = site.project()
    reader.enter((project, role))
    reader.get(f"/local/{project}/{page}")
    assert reader.page.status_code == 403 and "Not allowed" in reader.text and "project.manage" in reader.text
    reader.get(f"/local/{project}/experiment/jobs")
    assert f"/{project}/{page}" not in reader.page.text


@pytest.mark.parametrize("page", ["keys", "members", "approvals", "checkpoints", "experiment/jobs"])
def test_who_is_not_signed_in_is_sent_to_do_that_and_comes_back(site: Site, reader: Reader, page: str) -> None:
    answer = reader.get(f"/local/local/{page}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=" + f"/local/local/{page}".replace("/", "%2F")


def test_very_many_keys_come_in_pages_that_hold_each_once(site: Site, reader: Reader, project: str) -> None:
    made = [keys.create_key(site.place, KeyRequest(), LOCAL, project)[1].prefix for _ in range(2 * ROWS + 1)]
    reader.get(f"/local/{project}/keys")
    assert "201 keys" in reader.text and "Page 1 of 3" in reader.text
    seen = shown(reader)
    while found := re.search(r'rel="next" href="([^"]*)"', reader.page.text):
        reader.get(found[1])
        seen += shown(reader)
    assert seen == made[::-1] and "Page 3 of 3" in reader.text
    reader.get(f"/local/{project}/keys?page=99")
    assert "Page 3 of 3" in reader.text
    assert reader.get(f"/local/{project}/keys?page=-1").status_code == 422
