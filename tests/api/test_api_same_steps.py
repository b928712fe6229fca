"""What cannot be told from outside: a refusal takes the same statements whatever is wrong, and says the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matrix_world
import pytest
import sqlalchemy as sa
from calling import Api, Session
from matrix import OPERATIONS, TOOLS, Operation
from matrix_world import Side
from test_api_matrix import World

from everloop import tokens
from everloop.errors import Unauthorized
from everloop.service import _passwords, people, projects, sessions
from everloop.service.caller import LOCAL

RUNS = "/v1/agent-runs/rsi/runs"
_NOWHERE = {
    "project_id": "nowhere:at-all",
    "run": "nowhere-run",
    "halted": "nowhere-halted",
    "approval_id": "apr-" + "0" * 20,
    "job_id": "job_" + "0" * 26,
    "trial_id": "trial_" + "0" * 26,
    "checkpoint_id": "ckpt_" + "0" * 26,
    "spare_id": "ckpt_" + "0" * 26,
    "operation_id": "op_" + "0" * 26,
    "prefix": "0" * 12,
    "user_id": "user_" + "0" * 26,
    "leaving_id": "user_" + "0" * 26,
    "parent": f"envloop://job_{'0' * 26}/ckpt_{'0' * 26}",
}
"""Targets that do not exist."""


@contextmanager
def statements(api: Api) -> Iterator[list[str]]:
    """Statements that the server executes meanwhile, but for its records: the audit log, the last use of a key."""
    seen: list[str] = []

    def note(*arguments: Any) -> None:
        if not any(word in arguments[2] for word in ("BEGIN", "audit", "SET used_at")):
            seen.append(arguments[2])

    sa.event.listen(api.place.database.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        sa.event.remove(api.place.database.engine, "before_cursor_execute", note)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Api(tmp_path_factory.mktemp("steps"), api_requests_per_minute=1_000_000) as api:
        projects.create_project(api.place, "theirs:quokka", "the quokka project", None, LOCAL)
        own, foreign = matrix_world.side(api, "local", "zebra"), matrix_world.side(api, "theirs:quokka", "quokka")
        yield World(api, own, foreign, matrix_world.callers(api).known)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Length of each secret that is hashed and compared."""
    lengths: list[int] = []
    plain = tokens.matches

    def matches(key: str, stored: str | None) -> bool:
        lengths.append(len(key))
        return plain(key, stored)

    monkeypatch.setattr(tokens, "matches", matches)
    return lengths


def wrong(secret: str) -> str:
    """The same token with another secret."""
    return secret[:-8] + ("A" * 8 if not secret.endswith("A" * 8) else "B" * 8)


def unknown(secret: str) -> str:
    """The same token with a prefix that there is none of."""
    mark, _, rest = secret.split("_", 2)
    return f"{mark}_{'0' * 12}_{rest}"


def test_a_key_is_refused_in_the_same_steps_whatever_is_wrong_with_it(world: World, compared: list[int]) -> None:
    good, revoked, expired = (world.callers[name] for name in ("read-only key", "revoked key", "expired key"))
    assert isinstance(good, str) and isinstance(revoked, str) and isinstance(expired, str)
    assert world.api.get(RUNS, key=unknown(good)).status == 401  # the first of a minute is recorded
    taken = []
    for key in (unknown(good), wrong(good), revoked, wrong(revoked), expired):
        compared.clear()
        with statements(world.api) as seen:
            answer = world.api.get(RUNS, key=key)
        taken.append((answer.status, answer.text, seen, list(compared)))
    assert [one for one in taken if one != taken[0]] == []
    assert taken[0][0] == 401 and len(taken[0][2]) == len(taken[0][3]) == 1


def test_a_session_is_refused_in_the_same_steps_whatever_is_wrong_with_it(world: World, compared: list[int]) -> None:
    good, disabled = world.callers["viewer"], world.callers["disabled person"]
    assert isinstance(good, Session) and isinstance(disabled, Session)
    assert world.api.get(RUNS).status == 401
    taken = []
    for token in (unknown(good.token), wrong(good.token), disabled.token):
        compared.clear()
        with statements(world.api) as seen:
            answer = world.api.get(RUNS, key=Session(token, ""))
        taken.append((answer.status, answer.text, seen, list(compared)))
    assert [one for one in taken if one != taken[0]] == []
    assert taken[0][0] == 401 and len(taken[0][2]) == len(taken[0][3]) == 1


def test_a_link_is_refused_in_the_same_steps_whatever_is_wrong_with_it(world: World, compared: list[int]) -> None:
    link = sessions.make_link(world.api.place, "owner")
    taken = []
    for token in (unknown(link), wrong(link)):
        compared.clear()
        with statements(world.api) as seen, pytest.raises(Unauthorized) as refused:
            sessions.use_link(world.api.place, token)
        taken.append((refused.value.message, seen, list(compared)))
    assert taken[0] == taken[1] and len(taken[0][2]) == 1


def test_a_sign_in_is_refused_in_the_same_steps_whoever_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    place, password = world.api.place, "a good password of somebody"
    people.create_user(place, "with@example.org", "", password, LOCAL)
    people.create_user(place, "without@example.org", "", None, LOCAL)
    gone = people.create_user(place, "gone@example.org", "", password, LOCAL)
    people.disable_user(place, gone.user_id, LOCAL)
    asked: list[str] = []
    plain = _passwords.verified

    def verified(given: str, stored: str | None) -> bool:
        asked.append(given)
        return plain(given, stored)

    monkeypatch.setattr(_passwords, "verified", verified)
    taken = []
    for email, given in (("with", "wrong"), ("nobody", "wrong"), ("without", "wrong"), ("gone", password)):
        asked.clear()
        with statements(world.api) as seen, pytest.raises(Unauthorized) as refused:
            sessions.sign_in(place, f"{email}@example.org", given)
        taken.append((refused.value.message, seen, len(asked)))
    assert [one for one in taken if one != taken[0]] == []
    assert taken[0][2] == 1


@pytest.mark.parametrize("caller", ["automation key", "key that approves", "admin"])
@pytest.mark.parametrize("row", [row for row in (*OPERATIONS, *TOOLS) if row.foreign == 404], ids=lambda row: row.name)
def test_what_is_of_others_is_told_and_looked_for_like_what_is_not_there(
    world: World, row: Operation, caller: str
) -> None:
    nowhere = Side("nothing", {**world.foreign.targets, **_NOWHERE})
    taken = []
    for there in (world.foreign, nowhere):
        asked = World(world.api, world.own, there, world.callers)
        with statements(world.api) as seen:
            status, text, _ = asked.ask(row, caller, "foreign")
        taken.append((status, plainly(text, there), seen))
    assert taken[0] == taken[1]
    assert taken[0][0] == row.expected(caller, "foreign")


def plainly(text: str, there: Side) -> str:
    """What was told, without the names that were asked for and what differs each time."""
    told = text
    for name, value in there.targets.items():
        if name in _NOWHERE:
            told = told.replace(value.rpartition("_")[2] if "://" not in value else value, "NAME")
    return re.sub(r"'(date|x-request-id|content-length)': '[^']*'", "", told)
