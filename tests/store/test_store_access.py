from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from everloop.store import api_keys, audit, members, projects, sessions, sign_in_links, users, workspaces
from everloop.store._brief import briefly
from everloop.store.api_keys import ApiKeyRow
from everloop.store.audit import Entry
from everloop.store.database import Database
from everloop.store.sessions import SessionRow
from everloop.store.sign_in_links import LinkRow

PAST, FUTURE = "2020-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"
KEY = ApiKeyRow("p1", "h" * 64, "w", "p", "ci", "custom", ["read"], "user:u", PAST, None, None, None)
SESSION = SessionRow("s1", "h" * 64, "u", "p", PAST, FUTURE, None, None)
LINK = LinkRow("l1", "h" * 64, "u", PAST, FUTURE, None)


def world(tx: Connection) -> None:
    workspaces.create(tx, "w", "W")
    projects.create(tx, "p", "w", "P")
    projects.create(tx, "q", "w", "Q")
    users.create(tx, "u", name="Ada", email="ada@example.org")
    users.create(tx, "v", name="Bob", issuer="https://idp", issuer_subject="7")
    members.put(tx, "p", "u", "admin")


@pytest.fixture
def store(database: Database) -> Database:
    with database.write() as tx:
        world(tx)
    return database


def test_workspaces_and_projects_are_made_once_and_listed_oldest_first(store: Database) -> None:
    with store.write() as tx:
        assert not workspaces.create(tx, "w", "again") and not projects.create(tx, "p", "other", "again")
        assert [one.name for one in workspaces.listing(tx)] == ["W"]
        assert [one.project_id for one in projects.listing(tx)] == ["p", "q"]
        found = projects.get(tx, "p", lock=True)
        assert found is not None and (found.workspace_id, found.name) == ("w", "P")
        assert workspaces.get(tx, "none") is None and projects.get(tx, "none") is None
        assert [one.project_id for one in projects.of_user(tx, "u")] == ["p"]


def test_people_are_found_by_id_address_and_issuer(store: Database) -> None:
    with store.read() as tx:
        assert users.by_email(tx, "ada@example.org") == users.get(tx, "u")
        assert users.by_issuer(tx, "https://idp", "7") == users.get(tx, "v")
        assert users.get(tx, "none") is None and users.by_issuer(tx, "https://idp", "8") is None


@pytest.mark.parametrize(
    ("user_id", "taken"),
    [("w", {"email": "ada@example.org"}), ("w", {"issuer": "https://idp", "issuer_subject": "7"}), ("u", {})],
)
def test_nobody_is_made_twice(store: Database, user_id: str, taken: dict[str, str]) -> None:
    with store.write() as tx:
        assert not users.create(tx, user_id, name="Again", **taken)


def test_a_person_is_shown_without_their_password(store: Database) -> None:
    with store.write() as tx:
        users.update(tx, "u", password="argon")
        assert "argon" not in repr(users.get(tx, "u", lock=True))


def test_people_outside_a_project_are_searched_for_literally(store: Database) -> None:
    with store.write() as tx:
        assert [one.user_id for one in users.outside(tx, "p", "BO", 5)] == ["v"]
        assert [one.user_id for one in users.outside(tx, "q", "a", 5)] == ["u"]
        assert [one.user_id for one in users.outside(tx, "q", "", 1)] == ["u"]
        assert users.outside(tx, "q", "%", 5) == []
        users.update(tx, "v", disabled_at=PAST)
        assert users.outside(tx, "p", "bo", 5) == []


def test_a_member_has_one_role_a_project(store: Database) -> None:
    with store.write() as tx:
        members.put(tx, "p", "u", "viewer")
        members.put(tx, "q", "u", "developer")
        (row,) = members.listing(tx, "p")
        assert (row.role, row.email, row.name, row.disabled_at) == ("viewer", "ada@example.org", "Ada", None)
        assert [one.project_id for one in members.of_user(tx, "u")] == ["p", "q"]
        assert members.remove(tx, "p", "u") and not members.remove(tx, "p", "u")
        assert members.get(tx, "p", "u") is None


def test_a_key_is_stored_found_listed_and_revoked(store: Database) -> None:
    with store.write(durable=True) as tx:
        assert api_keys.create(tx, KEY) and not api_keys.create(tx, KEY)
        api_keys.create(tx, replace(KEY, prefix="p2", project_id="q", created_by="local", created_at=FUTURE))
        assert api_keys.get(tx, "p1") == KEY and api_keys.get(tx, "none") is None
        assert [row.prefix for row in api_keys.listing(tx)] == ["p1", "p2"]
        assert [row.prefix for row in api_keys.listing(tx, "q")] == ["p2"]
        assert [row.prefix for row in api_keys.by_maker(tx, "user:u")] == ["p1"]
        assert api_keys.by_maker(tx, "user:u", "q") == []
        assert api_keys.revoke(tx, "p1") and not api_keys.revoke(tx, "p1") and not api_keys.revoke(tx, "none")
        assert api_keys.by_maker(tx, "user:u") == []
    assert "hhh" not in repr(KEY)


def test_what_a_request_needs_of_a_key_is_read_in_one_go(store: Database) -> None:
    with store.write() as tx:
        api_keys.create(tx, replace(KEY, expires_at=FUTURE))
        assert api_keys.presented(tx, "p1") == ("h" * 64, "w", "p", '["read"]', FUTURE, None, None)
        assert api_keys.presented(tx, "none") is None


def test_a_use_is_never_dated_back(store: Database) -> None:
    with store.write() as tx:
        api_keys.create(tx, KEY)
        sessions.create(tx, SESSION)
        for moment in ("2021", "2020"):
            api_keys.used(tx, "p1", moment)
            sessions.used(tx, "s1", moment)
        key, session = api_keys.get(tx, "p1"), sessions.get(tx, "s1")
        assert key is not None and session is not None and (key.used_at, session.used_at) == ("2021", "2021")


def test_what_a_request_needs_of_a_session_is_read_in_one_go(store: Database) -> None:
    with store.write() as tx:
        sessions.create(tx, SESSION)
        expected = ("h" * 64, "u", "p", FUTURE, None, None, None, "w", "admin")
        assert sessions.presented(tx, "s1") == expected
        sessions.choose(tx, "s1", "q")
        found = sessions.presented(tx, "s1")
        assert found is not None and (found.project_id, found.workspace_id, found.role) == ("q", "w", None)
        assert sessions.presented(tx, "none") is None and sessions.get(tx, "none") is None


def test_sessions_end_one_by_one_or_all_of_a_person(store: Database) -> None:
    with store.write() as tx:
        for row in (SESSION, replace(SESSION, prefix="s2"), replace(SESSION, prefix="s3", user_id="v")):
            sessions.create(tx, row)
        assert sessions.revoke(tx, "s1") and not sessions.revoke(tx, "s1")
        sessions.revoke_all(tx, "u")
        rows = [sessions.get(tx, prefix) for prefix in ("s1", "s2", "s3")]
        assert [row is not None and row.revoked_at is not None for row in rows] == [True, True, False]
    assert "hhh" not in repr(SESSION)


def test_of_two_who_use_a_link_at_once_one_gets_in(store: Database) -> None:
    with store.write() as tx:
        sign_in_links.create(tx, LINK)

    def use(_: int) -> bool:
        with store.write() as tx:
            return sign_in_links.use(tx, "l1")

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(8))) == 1


def test_a_link_that_expired_or_was_withdrawn_is_of_no_use(store: Database) -> None:
    with store.write() as tx:
        sign_in_links.create(tx, replace(LINK, expires_at=PAST))
        sign_in_links.create(tx, replace(LINK, prefix="l2"))
        sign_in_links.withdraw(tx, "u")
        assert [sign_in_links.use(tx, prefix) for prefix in ("l1", "l2", "none")] == [False, False, False]
        assert sign_in_links.get(tx, "none") is None
    assert "hhh" not in repr(LINK)


def test_the_audit_log_goes_back_page_by_page(store: Database) -> None:
    known = Entry(
        workspace_id="w",
        project_id="p",
        subject="local",
        surface="cli",
        action="key.create",
        target="x",
        status=200,
        code=None,
        request_id=None,
        address=None,
    )
    with store.write() as tx:
        for entry in (known, replace(known, project_id=None, status=401), replace(known, action="key.revoke")):
            audit.add(tx, entry)
        rows = audit.listing(tx, None, None, 9)
        assert [row.action for row in rows] == ["key.revoke", "key.create", "key.create"]
        assert [row.status for row in audit.listing(tx, None, rows[0].id, 1)] == [401]
        assert [row.action for row in audit.listing(tx, "p", None, 9)] == ["key.revoke", "key.create"]


def test_a_small_write_is_left_out_while_another_holds_the_row(store: Database) -> None:
    with store.write() as tx:
        api_keys.create(tx, KEY)
    with store.write() as tx:
        api_keys.used(tx, "p1", "2021")
        assert not briefly(store, lambda other: api_keys.used(other, "p1", "2022"))
    assert briefly(store, lambda tx: api_keys.used(tx, "p1", "2023"))
    with store.read() as tx:
        row = api_keys.get(tx, "p1")
    assert row is not None and row.used_at == "2023"


def test_a_small_write_that_fails_for_good_is_left_out_and_logged(
    store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    assert not briefly(store, lambda tx: tx.exec_driver_sql("DELETE FROM no_such_table") and None)
    assert "was not written" in caplog.text
