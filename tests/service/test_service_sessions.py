from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

import pytest
import sqlalchemy as sa
from access_world import installation_on, other_project, user
from argon2 import PasswordHasher

from everloop.errors import EverloopError, InvalidRequest, NotFound, ProjectAccessDenied, Unauthorized
from everloop.service import _passwords, access, people, sessions
from everloop.service.caller import LOCAL
from everloop.service.installation import Installation
from everloop.service.permissions import ALL, OF_ROLE, Role
from everloop.store.database import Database
from everloop.store.tables import sessions as table
from everloop.store.tables import sign_in_links as links

GOOD = "correct horse battery"
PAST = "2020-01-01T00:00:00.000000Z"


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> None:
    """Nothing: these tests are about hashes as they are."""


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return installation_on(database, tmp_path / "home")


@pytest.fixture
def alone(tmp_path: Path) -> Installation:
    database = Database(f"sqlite:///{tmp_path / 'everloop.db'}")
    database.migrate()
    return installation_on(database, tmp_path / "home")


def ada(installation: Installation, password: str | None = GOOD) -> str:
    user_id = people.create_user(installation, "ada@example.org", "Ada", password, LOCAL).user_id
    people.set_member(installation, "local", user_id, Role.ADMIN, LOCAL)
    return user_id


def refusal(installation: Installation, email: str, password: str) -> str:
    with pytest.raises(Unauthorized) as refused:
        sessions.sign_in(installation, email, password)
    return refused.value.message


def test_a_password_signs_a_person_in(installation: Installation) -> None:
    user_id = ada(installation)
    token, row = sessions.sign_in(installation, " ADA@example.org", GOOD)
    assert token.startswith(f"els_{row.prefix}_") and (row.user_id, row.project_id) == (user_id, "local")
    assert access.authenticate_session(installation, token).permissions == ALL


def test_a_session_lasts_as_long_as_the_settings_say(alone: Installation) -> None:
    short = replace(alone, settings=alone.settings.model_copy(update={"session_hours": 0.5}))
    _, row = sessions.sign_in_user(short, ada(alone))
    assert datetime.fromisoformat(row.expires_at) - datetime.fromisoformat(row.created_at) == timedelta(minutes=30)


def test_every_wrong_sign_in_is_refused_in_the_same_words(alone: Installation) -> None:
    user_id = ada(alone)
    words = refusal(alone, "ada@example.org", "wrong horse battery")
    for email, password in (
        ("nobody@example.org", GOOD),
        ("", GOOD),
        ("a\0@b", GOOD),
        ("ada@example.org", ""),
        ("ada@example.org", "x" * 5000),
        ("ada@example.org", GOOD + "\ud800"),
        ("owner", ""),
    ):
        assert refusal(alone, email, password) == words
    people.disable_user(alone, user_id, LOCAL)
    assert refusal(alone, "ada@example.org", GOOD) == words


def test_a_person_without_a_password_signs_in_with_none(alone: Installation) -> None:
    ada(alone, None)
    assert refusal(alone, "ada@example.org", "") and refusal(alone, "ada@example.org", GOOD)


def test_a_wrong_address_costs_as_much_as_a_wrong_password(alone: Installation) -> None:
    ada(alone)
    took: dict[str, list[float]] = {"ada@example.org": [], "nobody@example.org": [], "\0": []}
    for _ in range(3):
        for email, times in took.items():
            begun = time.process_time()
            refusal(alone, email, "wrong horse battery")
            times.append(time.process_time() - begun)
    known, *others = (median(times) for times in took.values())
    assert all(known / 2 < other < known * 2 for other in others), took


def test_a_password_may_be_typed_in_either_unicode_form(alone: Installation) -> None:
    ada(alone, "correct horse café")
    assert sessions.sign_in(alone, "ada@example.org", "correct horse café")


def test_a_hash_of_older_parameters_is_renewed_at_sign_in(alone: Installation) -> None:
    user_id = ada(alone)
    old_hash(alone, user_id)
    assert sessions.sign_in(alone, "ada@example.org", GOOD)
    renewed = people.find(alone, user_id, LOCAL).password
    assert renewed is not None and not _passwords.outdated(renewed) and _passwords.verified(GOOD, renewed)


def old_hash(installation: Installation, user_id: str) -> None:
    """Store the password as a hash of older parameters."""
    old = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(GOOD)
    with installation.database.write() as tx:
        tx.execute(sa.text("UPDATE users SET password = :one WHERE user_id = :two"), {"one": old, "two": user_id})


def while_it_is_checked(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Have something happen once, between the check of a password and what follows from it."""
    plain, waiting = _passwords.verified, [happens]

    def verified(password: str, stored: str | None) -> bool:
        good = plain(password, stored)
        if waiting:
            waiting.pop()()
        return good

    monkeypatch.setattr(_passwords, "verified", verified)


@pytest.mark.parametrize("outdated", [False, True])
def test_a_password_that_is_reset_while_it_is_checked_signs_nobody_in(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, outdated: bool
) -> None:
    user_id, new = ada(installation), "another horse battery"
    if outdated:
        old_hash(installation, user_id)
    while_it_is_checked(monkeypatch, lambda: people.set_password(installation, user_id, new, LOCAL))
    refusal(installation, "ada@example.org", GOOD)
    with installation.database.read() as tx:
        assert tx.execute(sa.select(table.c.prefix)).all() == []
    assert sessions.sign_in(installation, "ada@example.org", new)  # the old one was not written back


def test_a_hash_that_another_sign_in_renewed_meanwhile_is_good(
    alone: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_id = ada(alone)
    old_hash(alone, user_id)
    while_it_is_checked(monkeypatch, lambda: sessions.sign_in(alone, "ada@example.org", GOOD))
    assert sessions.sign_in(alone, "ada@example.org", GOOD)


def test_a_person_acts_in_another_project_of_theirs_while_the_session_stays(installation: Installation) -> None:
    user_id, project = ada(installation), other_project(installation)
    token, _ = sessions.sign_in_user(installation, user_id)
    caller = access.authenticate_session(installation, token)
    people.set_member(installation, project, user_id, Role.VIEWER, LOCAL)
    acting = sessions.acting_in(installation, caller, project)
    assert (acting.subject, acting.workspace_id, acting.project_id) == (caller.subject, "acme", project)
    assert acting.permissions == OF_ROLE[Role.VIEWER]
    assert access.authenticate_session(installation, token) == caller


@pytest.mark.parametrize("wrong", ["none", "\0", ""])
def test_nobody_acts_where_they_are_no_member(alone: Installation, wrong: str) -> None:
    token, _ = sessions.sign_in_user(alone, ada(alone, None))
    caller = access.authenticate_session(alone, token)
    for project in (wrong, other_project(alone)):
        with pytest.raises(ProjectAccessDenied):
            sessions.acting_in(alone, caller, project)
    with pytest.raises(ProjectAccessDenied):
        sessions.acting_in(alone, LOCAL, "local")


def test_a_stored_hash_that_is_none_lets_nobody_in() -> None:
    assert not _passwords.verified(GOOD, "no hash")


def test_a_person_signed_in_otherwise_gets_a_session(installation: Installation) -> None:
    user_id = user(installation, "a@b.c", None)
    _, row = sessions.sign_in_user(installation, user_id)
    assert (row.user_id, row.project_id) == (user_id, None)
    with pytest.raises(Unauthorized):
        sessions.sign_in_user(installation, "none")


def test_signing_out_ends_the_session_and_nothing_else(installation: Installation) -> None:
    user_id = ada(installation)
    first, second = (sessions.sign_in_user(installation, user_id)[0] for _ in range(2))
    for token in (first, first, "", "els_000000000000_x", f"{second}x"):
        sessions.sign_out(installation, token)
    with pytest.raises(Unauthorized):
        access.authenticate_session(installation, first)
    assert access.authenticate_session(installation, second)


def test_a_session_looks_at_any_project_of_its_person(installation: Installation) -> None:
    user_id, project = ada(installation), other_project(installation)
    token, _ = sessions.sign_in_user(installation, user_id)
    for wrong in (project, "none", "\0", ""):
        with pytest.raises(ProjectAccessDenied):
            sessions.choose_project(installation, token, wrong)
    people.set_member(installation, project, user_id, Role.VIEWER, LOCAL)
    sessions.choose_project(installation, token, project)
    caller = access.authenticate_session(installation, token)
    assert (caller.workspace_id, caller.project_id, len(caller.permissions)) == ("acme", project, 1)


@pytest.mark.parametrize("columns", [{"revoked_at": PAST}, {"expires_at": PAST}, {"hash": "0" * 64}])
def test_a_session_that_ended_chooses_nothing(alone: Installation, columns: dict[str, str]) -> None:
    token, _ = sessions.sign_in_user(alone, "owner")
    with alone.database.write() as tx:
        tx.execute(sa.update(table).values(**columns))
    with pytest.raises(Unauthorized):
        sessions.choose_project(alone, token, "local")


def test_a_link_signs_in_once(installation: Installation) -> None:
    link = sessions.make_link(installation, "owner")
    assert link.startswith("ell_")
    assert access.authenticate_session(installation, sessions.use_link(installation, link)).subject == "user:owner"
    with pytest.raises(Unauthorized):
        sessions.use_link(installation, link)


def test_a_link_used_many_times_at_once_signs_in_once(installation: Installation) -> None:
    link = sessions.make_link(installation, "owner")

    def use(_: int) -> bool:
        try:
            return bool(sessions.use_link(installation, link))
        except EverloopError:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(use, range(6))) == 1
    with installation.database.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 1


def test_a_link_that_is_not_good_is_refused_in_the_same_words(alone: Installation) -> None:
    link = sessions.make_link(alone, "owner")
    words = set()
    for token in ("", "\0", "ell_000000000000_x", f"{link}x", link.replace("ell", "els"), link.rpartition("_")[0]):
        with pytest.raises(Unauthorized) as refused:
            sessions.use_link(alone, token)
        words.add(refused.value.message)
    with alone.database.write() as tx:
        tx.execute(sa.update(links).values(expires_at=PAST))
    with pytest.raises(Unauthorized) as refused:
        sessions.use_link(alone, link)
    assert words == {refused.value.message}


def test_a_link_is_for_somebody_who_may_sign_in(alone: Installation) -> None:
    people.disable_user(alone, ada(alone), LOCAL)
    for user_id in ("none", people.find(alone, "ada@example.org", LOCAL).user_id):
        with pytest.raises(NotFound):
            sessions.make_link(alone, user_id)


@pytest.mark.parametrize("minutes", [0, -1, 1441, float("nan"), float("inf")])
def test_a_link_does_not_work_for_ever(alone: Installation, minutes: float) -> None:
    with pytest.raises(InvalidRequest):
        sessions.make_link(alone, "owner", minutes)


def test_tokens_are_stored_as_hashes_only(alone: Installation) -> None:
    link = sessions.make_link(alone, "owner")
    token = sessions.use_link(alone, sessions.make_link(alone, "owner"))
    with alone.database.read() as tx:
        dump = str([tx.execute(sa.select(one)).all() for one in (table, links)])
    assert link.split("_", 2)[2] not in dump and token.split("_", 2)[2] not in dump
