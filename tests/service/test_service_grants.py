from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from everloop.errors import (
    AccessDenied,
    EverloopError,
    GrantExpired,
    InvalidRequest,
    NotFound,
    StateConflict,
)
from everloop.events import Json, JsonValue
from everloop.paths import Home
from everloop.service import grants
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import OF_ROLE, Role
from everloop.settings import Settings
from everloop.store import api_keys, tables
from everloop.store.database import Database
from everloop.values import iso, utcnow

ORIGIN = "http://127.0.0.1:8711"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def person(role: Role = Role.DEVELOPER) -> Caller:
    return Caller("user:u1", "w", "p", OF_ROLE[role], "session")


@dataclass
class CommandLine:
    """What the command line holds."""

    installation: Installation
    key: str = field(default_factory=lambda: "epk_" + secrets.token_hex(32))
    poll_token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    code: str = "ABCD2345"
    grant_id: str = ""

    def start(self, address: str = "") -> Json:
        hashes = {"key_hash": digest(self.key), "poll_hash": digest(self.poll_token), "code_hash": digest(self.code)}
        answer = grants.start(self.installation, {**hashes}, ORIGIN, address)
        self.grant_id = str(answer["grant_id"])
        return answer

    @property
    def body(self) -> Json:
        return {"grant_id": self.grant_id, "poll_token": self.poll_token}

    def poll(self) -> Json:
        return grants.poll(self.installation, self.body)

    def cancel(self) -> Json:
        return grants.cancel(self.installation, self.body)


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    home = Home(tmp_path / "home").create()
    now = iso(utcnow())
    with database.write() as tx:
        tx.execute(sa.insert(tables.projects).values(project_id="p", workspace_id="w", name="p", created_at=now))
        tx.execute(sa.insert(tables.users).values(user_id="u1", name="u1", created_at=now))
        tx.execute(sa.insert(tables.members).values(project_id="p", user_id="u1", role="admin", created_at=now))
    return Installation(Settings(home=home.root, database_url=database.url), database, home)


@pytest.fixture
def waiting(installation: Installation) -> CommandLine:
    made = CommandLine(installation)
    made.start()
    return made


def expire(waiting: CommandLine) -> None:
    past = iso(utcnow() - timedelta(seconds=1))
    with waiting.installation.database.write() as tx:
        tx.execute(sa.update(tables.grants).values(expires_at=past))


def key_row(waiting: CommandLine) -> api_keys.ApiKeyRow | None:
    with waiting.installation.database.read() as tx:
        return api_keys.get(tx, digest(waiting.key)[:12])


def test_a_start_names_the_page_where_a_person_decides(installation: Installation) -> None:
    answer = CommandLine(installation).start()
    assert answer["verification_uri"] == f"{ORIGIN}/sign-in?cli_login={answer['grant_id']}"
    assert (answer["interval"], answer["expires_in"]) == (2, 600)


def test_a_grant_is_pending_until_a_person_decides(waiting: CommandLine) -> None:
    assert waiting.poll() == {"status": "pending"}
    assert key_row(waiting) is None


def test_an_approved_grant_names_the_scope_however_often_it_is_asked(waiting: CommandLine) -> None:
    grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    for _ in range(2):
        assert waiting.poll() == {"status": "approved", "workspace_id": "w", "project_id": "p"}


def test_the_key_that_the_command_line_made_is_stored_as_a_hash_for_thirty_days(waiting: CommandLine) -> None:
    prefix = grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    row = key_row(waiting)
    assert row is not None
    assert (row.prefix, row.hash, row.created_by) == (prefix, digest(waiting.key), "user:u1")
    assert row.expires_at is not None
    assert str(iso(utcnow() + timedelta(days=29))) < row.expires_at <= str(iso(utcnow() + timedelta(days=30)))


@pytest.mark.parametrize(
    ("role", "kind", "may"),
    [
        (Role.VIEWER, "read-only", ["read"]),
        (Role.DEVELOPER, "automation", ["read", "training.run", "training.stop"]),
        (Role.ADMIN, "automation", ["read", "training.run", "training.stop"]),
    ],
)
def test_a_key_may_do_no_more_than_who_approved_it(waiting: CommandLine, role: Role, kind: str, may: list[str]) -> None:
    grants.approve(waiting.installation, waiting.grant_id, waiting.code, person(role))
    row = key_row(waiting)
    assert row is not None
    assert (row.kind, row.permissions) == (kind, may)


@pytest.mark.parametrize("typed", ["abcd2345", " ABCD 2345 ", "ABCD-2345"])
def test_a_code_may_be_typed_loosely(waiting: CommandLine, typed: str) -> None:
    grants.approve(waiting.installation, waiting.grant_id, typed, person())
    assert waiting.poll()["status"] == "approved"


def test_five_wrong_codes_deny_a_grant(waiting: CommandLine) -> None:
    for _ in range(4):
        with pytest.raises(InvalidRequest, match="not the code"):
            grants.approve(waiting.installation, waiting.grant_id, "WRONG", person())
        assert waiting.poll() == {"status": "pending"}
    with pytest.raises(InvalidRequest, match="not the code"):
        grants.approve(waiting.installation, waiting.grant_id, "WRONG", person())
    assert waiting.poll() == {"status": "denied"}
    with pytest.raises(StateConflict):
        grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    assert key_row(waiting) is None


def test_a_person_can_deny(waiting: CommandLine) -> None:
    grants.deny(waiting.installation, waiting.grant_id, person())
    assert waiting.poll() == {"status": "denied"}


@pytest.mark.parametrize("caller", [LOCAL, Caller("key:1", "w", "p", OF_ROLE[Role.DEVELOPER], "api_key")])
def test_a_key_lets_no_other_key_in(waiting: CommandLine, caller: Caller) -> None:
    with pytest.raises(AccessDenied, match="signed-in person"):
        grants.approve(waiting.installation, waiting.grant_id, waiting.code, caller)
    assert waiting.poll() == {"status": "pending"}


def test_who_may_do_nothing_in_a_project_lets_nobody_in(waiting: CommandLine) -> None:
    with pytest.raises(AccessDenied, match="read"):
        grants.approve(waiting.installation, waiting.grant_id, waiting.code, Caller("user:u1", method="session"))


Decide = Callable[[CommandLine], object]
DECISIONS: list[Decide] = [
    lambda it: grants.approve(it.installation, it.grant_id, it.code, person()),
    lambda it: grants.deny(it.installation, it.grant_id, person()),
    lambda it: grants.waiting(it.installation, it.grant_id),
]


@pytest.mark.parametrize("again", DECISIONS)
@pytest.mark.parametrize("first", [*DECISIONS[:2], CommandLine.cancel])
def test_a_grant_is_decided_once(waiting: CommandLine, first: Decide, again: Decide) -> None:
    first(waiting)
    with pytest.raises(StateConflict, match="decided already"):
        again(waiting)


@pytest.mark.parametrize("decide", DECISIONS)
def test_nobody_decides_an_expired_grant(waiting: CommandLine, decide: Decide) -> None:
    expire(waiting)
    with pytest.raises(GrantExpired):
        decide(waiting)
    with pytest.raises(GrantExpired):
        waiting.poll()


def test_an_approval_is_told_after_the_grant_expired(waiting: CommandLine) -> None:
    grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    expire(waiting)
    assert waiting.poll()["status"] == "approved"


def test_a_command_line_that_gives_up_after_the_approval_leaves_no_key(waiting: CommandLine) -> None:
    grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    assert waiting.cancel() == waiting.cancel() == {"status": "cancelled"}
    row = key_row(waiting)
    assert row is not None
    assert row.revoked_at is not None


def test_a_denied_grant_stays_denied(waiting: CommandLine) -> None:
    grants.deny(waiting.installation, waiting.grant_id, person())
    assert waiting.cancel() == {"status": "denied"}


@pytest.mark.parametrize("ask", [grants.poll, grants.cancel])
@pytest.mark.parametrize("change", [{"poll_token": "another"}, {"grant_id": "no-such"}])
def test_only_the_command_line_itself_learns_of_its_grant(
    waiting: CommandLine, ask: Callable[[Installation, JsonValue], Json], change: Json
) -> None:
    with pytest.raises(NotFound, match="no such sign-in"):
        ask(waiting.installation, waiting.body | change)
    assert waiting.poll() == {"status": "pending"}


@pytest.mark.parametrize("grant_id", ["", "x\0y", "00000000-0000-4000-8000-000000000000"])
def test_an_unknown_grant_is_not_found(installation: Installation, grant_id: str) -> None:
    with pytest.raises(NotFound):
        grants.waiting(installation, grant_id)


GOOD: Json = {"key_hash": "0" * 64, "poll_hash": "1" * 64, "code_hash": "2" * 64}


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        GOOD | {"more": "x"},
        GOOD | {"key_hash": "0" * 63},
        GOOD | {"key_hash": "A" * 64},
        GOOD | {"code_hash": 1},
    ],
)
def test_a_start_takes_three_hashes_and_nothing_else(installation: Installation, body: JsonValue) -> None:
    with pytest.raises(InvalidRequest):
        grants.start(installation, body, ORIGIN)


def test_a_key_that_is_in_use_is_not_let_in_again(waiting: CommandLine) -> None:
    grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    again = CommandLine(waiting.installation, key=waiting.key)
    again.start()
    with pytest.raises(StateConflict, match="a key of this prefix"):
        grants.approve(waiting.installation, again.grant_id, again.code, person(Role.ADMIN))
    assert again.poll() == {"status": "pending"}


def begun(installation: Installation, *addresses: str) -> list[CommandLine]:
    """Command lines that began one after another at these addresses."""
    made = [CommandLine(installation) for _ in addresses]
    for one, address in zip(made, addresses, strict=True):
        one.start(address)
    return made


def states(waiting: list[CommandLine]) -> list[object]:
    return [one.poll()["status"] for one in waiting]


def test_the_oldest_of_all_gives_way_when_too_many_wait(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "WAITING", 2)
    assert states(begun(installation, "", "", "", "")) == ["cancelled"] * 2 + ["pending"] * 2


def test_the_oldest_of_an_address_gives_way_to_its_own_and_to_no_other(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "EACH", 2)
    waiting = begun(installation, "10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.2", "10.0.0.2", "10.0.0.1")
    assert states(waiting) == ["pending", "cancelled", "cancelled", "pending", "pending", "pending"]


def test_what_was_decided_does_not_give_way(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "EACH", 1)
    (first,) = begun(installation, "10.0.0.1")
    grants.approve(installation, first.grant_id, first.code, person())
    begun(installation, "10.0.0.1")
    assert first.poll()["status"] == "approved"


def test_a_grant_is_forgotten_a_day_after_it_expired(waiting: CommandLine) -> None:
    with waiting.installation.database.write() as tx:
        tx.execute(sa.update(tables.grants).values(expires_at=iso(utcnow() - timedelta(hours=25))))
    CommandLine(waiting.installation).start()
    with pytest.raises(NotFound):
        waiting.poll()


def test_two_people_at_once_decide_once(waiting: CommandLine) -> None:
    done: list[str] = []

    def decide(work: Decide) -> None:
        try:
            work(waiting)
            done.append("done")
        except EverloopError as error:
            done.append(error.code)

    threads = [threading.Thread(target=decide, args=(work,)) for work in DECISIONS[:2] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == ["CONFLICT"] * 5 + ["done"]


def test_neither_key_nor_code_nor_poll_token_is_stored(waiting: CommandLine) -> None:
    grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    with waiting.installation.database.read() as tx:
        held = repr([tx.execute(sa.select(table)).all() for table in (tables.grants, tables.api_keys)])
    for secret in (waiting.key, waiting.poll_token, waiting.code):
        assert secret not in held


def test_who_was_removed_while_deciding_leaves_no_key(waiting: CommandLine) -> None:
    with waiting.installation.database.write() as tx:
        tx.execute(sa.delete(tables.members))
    with pytest.raises(AccessDenied):
        grants.approve(waiting.installation, waiting.grant_id, waiting.code, person())
    with waiting.installation.database.read() as tx:
        assert tx.execute(sa.select(tables.api_keys)).all() == []
