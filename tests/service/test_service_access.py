from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from access_world import installation_on, other_project, user
from sqlalchemy import event

from everloop import tokens
from everloop.errors import ProjectAccessDenied, Unauthorized
from everloop.service import access, keys, people, sessions
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import ALL, OF_KIND, OF_ROLE, KeyKind, Permission, Role
from everloop.store import api_keys
from everloop.store.database import Database
from everloop.store.tables import api_keys as key_table
from everloop.store.tables import sessions as session_table
from everloop.store.tables import users as user_table

NO_KEYS = (
    *("", "elk", "elk_", "elk__", "elk_0_\0", "elk_é_x", "x" * 600, "epk_XYZ", "epk_" + "A" * 64),
    *("elk_000000000000", "elk_000000000000_\ud800", "elk_000000000000_" + "x" * 600),
    *("els_000000000000_x", "elg_000000000000_x"),
)
PAST = "2020-01-01T00:00:00.000000Z"


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return installation_on(database, tmp_path / "home")


@pytest.fixture
def statements(installation: Installation) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(*arguments: object) -> None:
        if "BEGIN" not in str(arguments[2]):
            seen.append(str(arguments[2]))

    event.listen(installation.database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(installation.database.engine, "before_cursor_execute", note)


def key_of(installation: Installation, kind: KeyKind = KeyKind.AUTOMATION, project: str | None = None) -> str:
    return keys.create_key(installation, KeyRequest(kind=kind), LOCAL, project)[0]


def session_of(installation: Installation, role: Role | None = Role.DEVELOPER) -> tuple[str, str]:
    user_id = user(installation, "ada@example.org", role)
    return sessions.sign_in_user(installation, user_id)[0], user_id


def change(installation: Installation, table: sa.Table, **columns: object) -> None:
    with installation.database.write() as tx:
        tx.execute(sa.update(table).values(**columns))


def refusal(installation: Installation, bearer: str) -> str:
    with pytest.raises(Unauthorized) as refused:
        access.authenticate(installation, bearer)
    return refused.value.message


def test_a_key_is_its_project_and_what_its_kind_may_do(installation: Installation) -> None:
    project = other_project(installation)
    caller = access.authenticate(installation, key_of(installation, KeyKind.READ_ONLY, project))
    assert (caller.workspace_id, caller.project_id, caller.method) == ("acme", project, "api_key")
    assert caller.permissions == OF_KIND[KeyKind.READ_ONLY] and caller.subject.startswith("key:")


def test_a_permission_that_this_release_does_not_know_gives_nothing(installation: Installation) -> None:
    key = key_of(installation)
    change(installation, key_table, permissions=["read", "world.rule"])
    assert access.authenticate(installation, key).permissions == {Permission.READ}


@pytest.mark.parametrize("columns", [{"expires_at": PAST}, {"revoked_at": PAST}], ids=["expired", "revoked"])
def test_a_key_whose_time_is_over_is_refused_like_one_that_never_was(
    installation: Installation, columns: dict[str, str]
) -> None:
    key = key_of(installation)
    change(installation, key_table, **columns)
    assert refusal(installation, key) == refusal(installation, tokens.mint(tokens.API).key)


def test_whatever_is_no_key_is_refused_in_the_same_words(installation: Installation) -> None:
    words = refusal(installation, tokens.mint(tokens.API).key)
    for bearer in NO_KEYS:
        assert refusal(installation, bearer) == words


def test_the_public_part_alone_is_no_key(installation: Installation) -> None:
    assert refusal(installation, key_of(installation).rpartition("_")[0])


def test_a_wrong_secret_and_an_unknown_prefix_take_the_same_steps(
    installation: Installation, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(installation)
    mark, prefix, _ = key.split("_", 2)
    decoded: list[str] = []
    monkeypatch.setattr(access.json, "loads", lambda text: decoded.append(text) or json.JSONDecoder().decode(text))
    taken = []
    for bearer in (f"{mark}_{prefix}_{'x' * 43}", f"{mark}_{'0' * 12}_{'x' * 43}"):
        statements.clear()
        told = refusal(installation, bearer)
        taken.append((told, list(statements), list(decoded)))
    assert taken[0] == taken[1] and len(taken[0][1]) == 1


def test_a_request_costs_one_read(installation: Installation, statements: list[str]) -> None:
    key = key_of(installation)
    access.authenticate(installation, key)
    statements.clear()
    access.authenticate(installation, key)
    assert len(statements) == 1 and statements[0].startswith("SELECT")


def test_a_use_is_written_once_a_minute(installation: Installation, statements: list[str]) -> None:
    key = key_of(installation)
    for _ in range(5):
        access.authenticate(installation, key)
    assert sum("UPDATE api_keys" in one for one in statements) == 1
    (row,) = keys.list_keys(installation, LOCAL)
    assert row.used_at is not None and row.used_at > row.created_at


def test_another_process_does_not_write_a_use_of_this_minute_again(
    installation: Installation, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_of(installation)
    access.authenticate(installation, key)
    monkeypatch.setattr(access, "_uses", access._Uses())
    statements.clear()
    access.authenticate(installation, key)
    assert not any("UPDATE" in one for one in statements)


def test_a_later_minute_is_written_again(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(installation)
    access.authenticate(installation, key)
    change(installation, key_table, used_at=PAST)
    access.authenticate(installation, key)
    assert keys.list_keys(installation, LOCAL)[0].used_at == PAST
    monkeypatch.setattr(access, "MINUTE", 0.0)
    access.authenticate(installation, key)
    assert keys.list_keys(installation, LOCAL)[0].used_at != PAST


def test_what_is_remembered_of_uses_stays_bounded(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MOST_TRIED", 2)
    uses = access._Uses()
    written: list[str] = []
    for prefix in ("a", "b", "a", "c", "a"):
        uses.note(installation.database, prefix, None, lambda _, one, __: written.append(one))
    assert written == ["a", "b", "c", "a"]


def test_a_busy_writer_does_not_hold_up_an_answer(installation: Installation) -> None:
    key = key_of(installation)
    with installation.database.write() as tx:
        tx.execute(sa.update(key_table).values(name="held"))
        begun = time.monotonic()
        assert access.authenticate(installation, key).project_id == "local"
        assert time.monotonic() - begun < 5  # of the 30 s that a writer waits


def test_a_key_that_a_client_made_is_found_by_its_hash(installation: Installation) -> None:
    key = "epk_" + "ab" * 32
    caller = Caller("user:u", permissions=ALL)
    with installation.database.write() as tx:
        row = keys.add_granted(tx, hashlib.sha256(key.encode()).hexdigest(), caller, KeyRequest(name="laptop"))
    found = access.authenticate(installation, key)
    assert found.subject == f"key:{row.prefix}" and found.permissions == OF_KIND[KeyKind.AUTOMATION]
    assert refusal(installation, "epk_" + "ba" * 32)


def test_a_session_may_do_what_the_role_in_its_project_allows(installation: Installation) -> None:
    token, user_id = session_of(installation)
    caller = access.authenticate_session(installation, token)
    assert (caller.subject, caller.project_id, caller.method) == (f"user:{user_id}", "local", "session")
    assert caller.permissions == OF_ROLE[Role.DEVELOPER]
    people.set_member(installation, "local", user_id, Role.VIEWER, LOCAL)
    assert access.authenticate_session(installation, token).permissions == OF_ROLE[Role.VIEWER]


def test_a_session_without_membership_may_do_nothing(installation: Installation) -> None:
    token, user_id = session_of(installation)
    people.remove_member(installation, "local", user_id, LOCAL)
    caller = access.authenticate_session(installation, token)
    assert (caller.permissions, caller.project_id) == (frozenset(), "local")


def test_a_session_of_nobody_s_project_may_do_nothing(installation: Installation) -> None:
    caller = access.authenticate_session(installation, session_of(installation, None)[0])
    assert (caller.permissions, caller.workspace_id, caller.project_id) == (frozenset(), "", "")


@pytest.mark.parametrize("columns", [{"expires_at": PAST}, {"revoked_at": PAST}, {"hash": "0" * 64}])
def test_a_session_that_is_not_good_is_refused(installation: Installation, columns: dict[str, str]) -> None:
    token, _ = session_of(installation)
    change(installation, session_table, **columns)
    with pytest.raises(Unauthorized):
        access.authenticate_session(installation, token)


def test_whatever_is_no_session_is_refused(installation: Installation) -> None:
    for token in ("", "els_000000000000_x", "elk_000000000000_x", "\0"):
        with pytest.raises(Unauthorized):
            access.authenticate_session(installation, token)


def test_a_disabled_person_is_refused_at_once(installation: Installation) -> None:
    token, _ = session_of(installation)
    change(installation, user_table, disabled_at=PAST)
    with pytest.raises(Unauthorized):
        access.authenticate_session(installation, token)


@pytest.mark.parametrize(
    ("workspace", "project", "allowed"),
    [
        *((None, None, True), ("w", "p", True), ("w", None, True), (None, "p", True)),
        *(("x", "p", False), ("w", "x", False), ("", None, False), (None, "P", False)),
    ],
)
def test_a_request_may_name_its_own_scope_only(workspace: str | None, project: str | None, allowed: bool) -> None:
    caller = replace(LOCAL, workspace_id="w", project_id="p", method="api_key")
    if allowed:
        access.check_scope(caller, workspace, project)
        return
    with pytest.raises(ProjectAccessDenied):
        access.check_scope(caller, workspace, project)


def test_keys_are_stored_as_hashes_only(installation: Installation) -> None:
    key = key_of(installation)
    with installation.database.read() as tx:
        row = api_keys.get(tx, access.key_prefix(key))
        dump = str(tx.execute(sa.select(key_table)).all())
    assert row is not None and row.hash == hashlib.sha256(key.encode()).hexdigest()
    assert key.split("_", 2)[2] not in dump
