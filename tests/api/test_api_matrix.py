"""Every operation and tool, every kind of caller, their own project and another: what may be done, read and changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import matrix_world
import pytest
from calling import Answer, Api, Session, session_cookie
from matrix import MAY, OPEN, OPERATIONS, PEOPLE, SIGNING_IN, TOOLS, Operation, Tool
from matrix_world import Contents, Side
from mcp_calling import ACCEPT

from everloop.api.mcp_tools import BY_NAME
from everloop.service import projects
from everloop.service.caller import LOCAL

PREFIXES = ("/v1", "/api/v1")
STATUS = {"ACCESS_DENIED": 403, "RSI_RUN_NOT_FOUND": 404, "RSI_CONFLICT": 409}
"""Code of a tool's refusal -> status it stands for."""


@dataclass
class World:
    """A server, a project that callers are of, one that they are not of, and the callers."""

    api: Api
    own: Side
    foreign: Side
    callers: dict[str, str | Session | None]
    kept: Contents | None = None
    """What is stored, where nothing was changed since it was looked at."""

    def ask(self, row: Operation, caller: str, scope: str, prefix: str = "/v1") -> tuple[int, str, str]:
        """Status, everything that came back, and everything that was sent."""
        targets = (self.foreign if scope == "foreign" else self.own).targets
        sent = row.sent(targets)
        headers = {"X-Project-ID": self.foreign.targets["project_id"]} if scope == "header" else {}
        if isinstance(row, Tool):
            call = {"name": row.name.partition(":")[0], "arguments": sent["json"]}
            sent["json"] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            headers |= ACCEPT
        answer = self.api.request(
            row.method,
            prefix + sent["path"],
            key=self.callers[caller],
            headers=headers,
            params=sent["params"],
            **({"json": sent["json"]} if row.changes else {}),
        )
        status = told(answer) if isinstance(row, Tool) else answer.status
        return status, f"{answer.headers}{answer.content.decode(errors='replace')}", str(sent)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    limits = {"api_requests_per_minute": 1_000_000, "max_active_runs": 10_000}
    with Api(tmp_path_factory.mktemp("matrix"), **limits) as api:
        projects.create_workspace(api.place, "afar", "the quokka workspace", LOCAL)
        projects.create_project(api.place, "afar:quokka", "the quokka afar", "afar", LOCAL)
        projects.create_project(api.place, "theirs:quokka", "the quokka project", None, LOCAL)
        own = matrix_world.side(api, "local", "zebra")
        foreign = matrix_world.side(api, "theirs:quokka", "quokka")
        yield World(api, own, foreign, matrix_world.callers(api).known)


def told(answer: Answer) -> int:
    """The status that a tool's answer stands for."""
    if answer.status != 200:
        return answer.status
    result = answer.json["result"]
    return STATUS[result["structuredContent"]["code"]] if result["isError"] else 200


def leaked(words: set[str], text: str, sent: str) -> set[str]:
    """Words that came back and that the caller has not said; ids of one thing differ in what stands before ``_``."""
    return {word for word in words if word in text and word.rpartition("_")[2] not in sent}


def scopes(row: Operation) -> tuple[str, ...]:
    return ("own", "header") if row.foreign is None else ("own", "header", "foreign")


def names(rows: tuple[Operation, ...]) -> set[str]:
    return {row.name.partition(":")[0] for row in rows}


def test_the_table_has_every_operation(world: World) -> None:
    described = {
        (one["operationId"], method.upper(), path)
        for path, methods in world.api.app.openapi()["paths"].items()
        for method, one in methods.items()
    }
    assert {name for name, _, _ in described} == names(OPERATIONS) | OPEN | SIGNING_IN
    methods = {name: method for name, method, _ in described}
    assert all(row.method == methods[row.name.partition(":")[0]] for row in OPERATIONS)


def test_the_table_has_every_tool() -> None:
    assert names(TOOLS) == set(BY_NAME)


@pytest.mark.parametrize("caller", MAY)
@pytest.mark.parametrize("row", [*OPERATIONS, *TOOLS], ids=lambda row: row.name)
def test_a_caller_gets_what_the_table_says_and_nothing_of_others(world: World, row: Operation, caller: str) -> None:
    got: dict[tuple[str, str], int] = {}
    before, world.kept = world.kept or matrix_world.contents(world.api), None
    refused = [scope for scope in scopes(row) if scope != "own" or row.expected(caller, scope) >= 400]
    for scope in refused:
        for prefix in PREFIXES:
            got[scope, prefix], text, sent = world.ask(row, caller, scope, prefix)
            assert not leaked(world.own.words if scope == "own" else world.foreign.words, text, sent), text
    after = matrix_world.contents(world.api)
    assert after == before, "something changed"
    for scope in set(scopes(row)) - set(refused):
        for prefix in PREFIXES:
            if row.uses_up:
                matrix_world.prepare(world.api, world.own)
            got[scope, prefix], text, sent = world.ask(row, caller, scope, prefix)
            assert row.tells_others or not leaked(world.foreign.words, text, sent), text
    assert got == {at: row.expected(caller, at[0]) for at in got}
    assert len(got) == 2 * len(scopes(row))
    if not row.changes:
        world.kept = after


@pytest.mark.parametrize("row", [row for row in OPERATIONS if row.changes], ids=lambda row: row.name)
@pytest.mark.parametrize("origin", [None, "https://elsewhere.example", "null"])
def test_a_cookie_changes_nothing_from_a_page_of_another_site(world: World, row: Operation, origin: str | None) -> None:
    session, world.kept = world.callers["admin"], None
    assert isinstance(session, Session)
    before, sent = matrix_world.contents(world.api), row.sent(world.own.targets)
    headers = {"Cookie": session_cookie(world.api.url, session.token)} | ({"Origin": origin} if origin else {})
    for prefix in PREFIXES:
        answer = world.api.request(row.method, prefix + sent["path"], headers=headers, json=sent["json"])
        assert (answer.status, answer.code) == (403, "ACCESS_DENIED")
    assert matrix_world.contents(world.api) == before


def test_an_address_of_a_file_is_good_without_a_key_and_no_other_is(world: World) -> None:
    for prefix in PREFIXES:
        path = f"{prefix}/job/checkpoints/content/"
        assert world.api.get(path + world.own.targets["token"]).status == 200
        refused = world.api.get(path + world.own.targets["token"][:-2])
        assert (refused.status, leaked(world.own.words, refused.text, "")) == (403, set())


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_what_is_open_tells_of_no_project(world: World, path: str) -> None:
    answer = world.api.get(path)
    assert answer.status == 200
    assert not leaked(world.own.words | world.foreign.words, answer.text, "")


@pytest.mark.parametrize("caller", sorted(MAY))
def test_a_workspace_that_a_caller_is_not_in_is_unknown(world: World, caller: str) -> None:
    for path in ("/v1/workspaces/afar/projects", "/v1/workspaces/afar/projects/afar:quokka"):
        answer = world.api.get(path, key=world.callers[caller])
        assert answer.status in {401, 404}
        assert leaked(world.foreign.words, answer.text, path) == set()


@pytest.mark.parametrize("header", ["X-Workspace-ID", "X-Project-ID"])
@pytest.mark.parametrize("caller", sorted(set(MAY) - PEOPLE - {"nobody", "revoked key", "expired key"}))
def test_a_key_that_names_its_own_place_is_let_in(world: World, caller: str, header: str) -> None:
    answer: Any = world.api.get("/v1/me", key=world.callers[caller], headers={header: "local"})
    assert (answer.status, answer.json["project_id"]) == (200, "local")
    refused = world.api.get("/v1/me", key=world.callers[caller], headers={header: "afar"})
    assert (refused.status, refused.code) == (403, "PROJECT_ACCESS_DENIED")


@pytest.mark.parametrize("caller", sorted(MAY))
def test_whoever_signs_in_with_a_command_line_is_told_the_same(world: World, caller: str) -> None:
    world.kept = None
    hashes = dict.fromkeys(("key_hash", "poll_hash", "code_hash"), "0" * 64)
    ask = {"grant_id": "00000000-0000-4000-8000-000000000000", "poll_token": "nobody's"}
    expected = {"start": (hashes, 200), "poll": (ask, 404), "cancel": (ask, 404)}
    for prefix in PREFIXES:
        for name, (body, status) in expected.items():
            answer = world.api.post(f"{prefix}/auth/cli/{name}", key=world.callers[caller], json=body)
            assert answer.status == status, answer.text
            assert not leaked(world.own.words | world.foreign.words, answer.text, "")
