from __future__ import annotations

import threading
from pathlib import Path

import pytest
from access_world import installation_on, other_project, person, signed_in, user
from lost_answers import lose_answers

from everloop.errors import (
    AccessDenied,
    EverloopError,
    InvalidRequest,
    NotFound,
    ProjectAccessDenied,
    StateConflict,
    Unauthorized,
)
from everloop.service import access, keys, people
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind, Permission, Role
from everloop.store.database import Database


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return installation_on(database, tmp_path / "home")


def custom(*names: str, **rest: object) -> KeyRequest:
    return KeyRequest(kind=KeyKind.CUSTOM, permissions=names, **rest)


def test_a_key_is_of_the_project_of_the_admin_who_made_it(installation: Installation) -> None:
    project = other_project(installation)
    admin = person(installation, "ada@example.org", Role.ADMIN, project)
    key, row = keys.create_key(installation, KeyRequest(name="ci", expires_days=2), admin)
    assert key.startswith(f"elk_{row.prefix}_")
    assert (row.workspace_id, row.project_id, row.created_by) == ("acme", project, admin.subject)
    assert row.expires_at is not None and row.expires_at > row.created_at
    assert keys.list_keys(installation, admin) == [row]
    assert access.authenticate(installation, key).project_id == project


def test_a_key_whose_answer_was_lost_is_made_once_and_is_good(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_answers(installation.database, monkeypatch)
    key, row = keys.create_key(installation, KeyRequest(name="ci"), LOCAL)
    assert keys.list_keys(installation, LOCAL) == [row]
    assert access.authenticate(installation, key).project_id == row.project_id


def test_a_custom_key_may_do_what_it_names(installation: Installation) -> None:
    key, row = keys.create_key(installation, custom("read", "training.approve"), LOCAL)
    assert row.permissions == ["read", "training.approve"]
    assert access.authenticate(installation, key).permissions == {Permission.READ, Permission.APPROVE}


def test_requests_that_cannot_be_accepted_are_refused(installation: Installation) -> None:
    wrong = (
        custom(),
        custom("read", "project.manage"),
        custom("world.rule"),
        KeyRequest(permissions=["read"]),
        KeyRequest(name="x" * 129),
        KeyRequest(name="a\nb"),
        KeyRequest(expires_days=0),
        KeyRequest(expires_days=3651),
        KeyRequest(expires_days=float("nan")),
    )
    for request in wrong:
        with pytest.raises(InvalidRequest):
            keys.create_key(installation, request, LOCAL)
    assert keys.list_keys(installation, LOCAL) == []


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, None])
def test_only_who_manages_the_project_makes_lists_and_revokes_keys(
    installation: Installation, role: Role | None
) -> None:
    caller = person(installation, "bob@example.org", role)
    _, row = keys.create_key(installation, KeyRequest(), LOCAL)
    acts = (
        lambda: keys.create_key(installation, KeyRequest(), caller),
        lambda: keys.list_keys(installation, caller),
        lambda: keys.revoke_key(installation, row.prefix, caller),
    )
    for act in acts:
        with pytest.raises(AccessDenied):
            act()
    assert keys.list_keys(installation, LOCAL) == [row]


def test_nobody_gives_a_permission_they_lack(installation: Installation) -> None:
    caller = Caller("user:u", permissions=frozenset({Permission.MANAGE, Permission.READ}))
    with pytest.raises(AccessDenied, match="training"):
        keys.create_key(installation, KeyRequest(), caller)
    assert keys.create_key(installation, custom("read"), caller)[1].permissions == ["read"]


def test_another_project_is_for_this_machine_s_account_only(installation: Installation) -> None:
    project = other_project(installation)
    admin = person(installation, "ada@example.org", Role.ADMIN)
    for act in (
        lambda: keys.create_key(installation, KeyRequest(), admin, project),
        lambda: keys.list_keys(installation, admin, project),
    ):
        with pytest.raises(ProjectAccessDenied):
            act()
    assert keys.create_key(installation, KeyRequest(), LOCAL, project)[1].project_id == project
    with pytest.raises(NotFound):
        keys.create_key(installation, KeyRequest(), LOCAL, "none")


def test_this_machine_s_account_lists_all_keys_or_those_of_one_project(installation: Installation) -> None:
    project = other_project(installation)
    first, second = (keys.create_key(installation, KeyRequest(), LOCAL, one)[1] for one in (None, project))
    assert keys.list_keys(installation, LOCAL) == [first, second]
    assert keys.list_keys(installation, LOCAL, project) == [second]


@pytest.mark.parametrize("form", ["{prefix}", "elk_{prefix}", "{key}"])
def test_a_revoked_key_is_refused_and_stays_revoked(installation: Installation, form: str) -> None:
    key, row = keys.create_key(installation, KeyRequest(), LOCAL)
    named = form.format(prefix=row.prefix, key=key)
    revoked = keys.revoke_key(installation, named, LOCAL)
    assert revoked.revoked_at is not None and keys.revoke_key(installation, named, LOCAL) == revoked
    with pytest.raises(Unauthorized):
        access.authenticate(installation, key)


def test_a_key_of_another_project_is_not_there(installation: Installation) -> None:
    _, row = keys.create_key(installation, KeyRequest(), LOCAL, other_project(installation))
    admin = person(installation, "ada@example.org", Role.ADMIN)
    words = set()
    for prefix in (row.prefix, "000000000000", "\0", "é", ""):
        with pytest.raises(NotFound) as refused:
            keys.revoke_key(installation, prefix, admin)
        words.add(refused.value.message)
    assert len(words) == 1


def test_a_key_is_shown_with_its_state_and_without_its_hash(installation: Installation) -> None:
    key, row = keys.create_key(installation, KeyRequest(name="ci", expires_days=1e-9), LOCAL)
    document = keys.key_json(row)
    assert document["state"] == "expired" and row.hash not in str(document)
    assert keys.key_json(keys.revoke_key(installation, key, LOCAL))["state"] == "revoked"
    assert keys.key_json(keys.create_key(installation, KeyRequest(expires_days=1), LOCAL)[1])["state"] == "active"


@pytest.mark.parametrize(
    "change",
    [
        lambda one, user_id: people.remove_member(one, "local", user_id, LOCAL),
        lambda one, user_id: people.disable_user(one, user_id, LOCAL),
        lambda one, user_id: people.set_member(one, "local", user_id, Role.VIEWER, LOCAL),
    ],
    ids=["removed", "disabled", "viewer"],
)
def test_a_key_does_not_outlive_what_its_maker_may_do(installation: Installation, change: object) -> None:
    user_id = user(installation, "ada@example.org", Role.ADMIN)
    admin = signed_in(installation, user_id)
    key, _ = keys.create_key(installation, KeyRequest(), admin)
    assert callable(change)
    change(installation, user_id)
    with pytest.raises(Unauthorized):
        access.authenticate(installation, key)
    with pytest.raises(AccessDenied):  # a request of theirs that was under way makes no key any more
        keys.create_key(installation, KeyRequest(), admin)


def test_keys_that_the_new_role_allows_stay(installation: Installation) -> None:
    user_id = user(installation, "ada@example.org", Role.ADMIN)
    key, _ = keys.create_key(installation, KeyRequest(), signed_in(installation, user_id))
    people.set_member(installation, "local", user_id, Role.DEVELOPER, LOCAL)
    assert access.authenticate(installation, key)


def test_no_key_is_left_when_its_maker_is_removed_at_the_same_time(installation: Installation) -> None:
    user_id = user(installation, "ada@example.org", Role.ADMIN)
    admin = signed_in(installation, user_id)
    ready = threading.Barrier(3)

    def make() -> None:
        ready.wait()
        for _ in range(5):
            try:
                keys.create_key(installation, KeyRequest(), admin)
            except EverloopError:
                return

    threads = [threading.Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    people.remove_member(installation, "local", user_id, LOCAL)
    for thread in threads:
        thread.join()
    assert all(row.revoked_at is not None for row in keys.list_keys(installation, LOCAL))


def test_a_client_s_own_key_gets_no_more_than_its_owner_has(installation: Installation) -> None:
    viewer = person(installation, "bob@example.org", Role.VIEWER)
    with installation.database.write() as tx:
        row = keys.add_granted(tx, "ab" * 32, viewer, KeyRequest(name="laptop"))
    assert (row.prefix, row.permissions, row.created_by) == ("ab" * 6, ["read"], viewer.subject)


def test_a_client_s_key_is_stored_once(installation: Installation) -> None:
    viewer = person(installation, "bob@example.org", Role.VIEWER)
    with installation.database.write() as tx:
        keys.add_granted(tx, "ab" * 32, viewer, KeyRequest())
    with pytest.raises(StateConflict), installation.database.write() as tx:
        keys.add_granted(tx, "ab" * 32, viewer, KeyRequest())


def test_who_may_do_nothing_gets_no_key(installation: Installation) -> None:
    nobody = person(installation, "eve@example.org", None)
    with pytest.raises(AccessDenied), installation.database.write() as tx:
        keys.add_granted(tx, "ab" * 32, nobody, KeyRequest())
