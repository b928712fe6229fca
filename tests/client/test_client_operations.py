"""The table of routes: what each request is, and that the server has every route of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from remote_server import Answer, Asked, RealServer, StandIn

import everloop
from everloop import AsyncClient, Client
from everloop.api.app import create_app
from everloop.client import OPERATIONS, InvalidAnswer, RemoteError, Unreachable
from everloop.errors import EverloopError, InvalidRequest, RateLimited, StateConflict

Described = dict[tuple[str, str], dict[str, object]]
Make = Callable[[Callable[[Asked], Answer]], StandIn]


def test_every_operation_is_a_method_of_both_clients() -> None:
    for name in OPERATIONS:
        assert callable(getattr(Client, name)) and callable(getattr(AsyncClient, name))


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_method_takes_what_its_route_has(name: str) -> None:
    operation = OPERATIONS[name]
    wanted = {*operation.parameters, *operation.query, *operation.body, *(["document"] if operation.document else [])}
    assert set(inspect.signature(getattr(Client, name)).parameters) - {"self"} == wanted


WITHOUT = {
    "/v1/agent-runs/rsi/mcp",  # spoken by MCP clients
    "/v1/job/checkpoints/content/{token}",  # an address of its own, fetched by `download_checkpoint`
    "/v1/trials/{trial_id}/artifacts/{artifact_id}/content",  # bytes, not a document
}
"""Paths that no operation calls, and why."""


@pytest.fixture(scope="module")
def described(server: RealServer) -> Described:
    """Method and path -> what the server's OpenAPI document says of them."""
    found = create_app(server.installation).openapi()["paths"]
    inside = ((path, *pair) for path, item in found.items() if path.startswith("/v1/") for pair in item.items())
    return {(method.upper(), path): told for path, method, told in inside if isinstance(told, dict)}


def test_the_table_has_every_route_of_the_server_and_no_other(described: Described) -> None:
    has = {(operation.method, operation.path) for operation in OPERATIONS.values()}
    offered = {(method, path) for method, path in described if path not in WITHOUT}
    assert has == offered


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_asks_what_its_route_describes(name: str, described: Described) -> None:
    operation = OPERATIONS[name]
    told = described[operation.method, operation.path]
    parameters = told.get("parameters", [])
    assert isinstance(parameters, list)
    places = {place: {one["name"] for one in parameters if one["in"] == place} for place in ("path", "query")}
    assert places == {"path": set(operation.parameters), "query": set(operation.query)}
    assert ("requestBody" in told) == bool(operation.body or operation.document)


def test_paths_are_percent_encoded_in_full() -> None:
    request = OPERATIONS["live"].request({"run": "a/b ?#é", "since": 3})
    assert request.path == "/v1/agent-runs/rsi/runs/a%2Fb%20%3F%23%C3%A9/live?since=3"


@pytest.mark.parametrize("run", ["", ".", "..", None, True])
def test_a_segment_that_leads_elsewhere_is_refused(run: str | bool | None) -> None:
    with pytest.raises(InvalidRequest):
        OPERATIONS["run"].request({"run": run})


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        OPERATIONS["start_run"].request({"document": {"limits": {"model_usd_cap": float("inf")}}})


def test_a_request_carries_key_scope_and_json(stand_in: Make) -> None:
    served = stand_in(lambda _: (200, {}, {}))
    with Client(served.url, api_key="k", workspace_id="w", project_id="p") as client:
        client.steer("r", "héllo")
    (asked,) = served.asked
    assert (asked.method, asked.path, asked.json) == ("POST", "/v1/agent-runs/rsi/runs/r/steer", {"text": "héllo"})
    names = ("authorization", "x-workspace-id", "x-project-id", "content-type")
    assert [asked.headers[name] for name in names] == ["Bearer k", "w", "p", "application/json"]


def test_pages_are_walked_to_the_end(stand_in: Make) -> None:
    def answer(asked: Asked) -> Answer:
        place = int(asked.path.partition("cursor=")[2] or 0)
        return 200, {"items": [{"job_id": str(place)}], "next_cursor": str(place + 1) if place < 5 else None}, {}

    served = stand_in(answer)
    with Client(served.url) as client:
        assert [job["job_id"] for job in client.jobs(type="train")] == ["0", "1", "2", "3", "4", "5"]
    assert served.asked[1].path == "/v1/job?type=train&limit=100&cursor=1"


def test_a_list_that_never_ends_is_an_error(stand_in: Make) -> None:
    served = stand_in(lambda _: (200, {"items": [], "next_cursor": "same"}, {}))
    with Client(served.url) as client, pytest.raises(InvalidAnswer):
        list(client.jobs())
    assert len(served.asked) == 2


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(409, "CONFLICT", StateConflict), (429, "RATE_LIMITED", RateLimited), (418, "NEW_CODE", RemoteError)],
)
def test_an_error_is_of_the_class_of_its_code(
    status: int, code: str, kind: type[EverloopError], stand_in: Make
) -> None:
    served = stand_in(lambda _: (status, {"code": code, "message": "told"}, {"Retry-After": "9"}))
    with Client(served.url) as client, pytest.raises(kind) as raised:
        client.me()
    error = raised.value
    assert isinstance(error, RemoteError)
    assert (error.code, error.http, error.message, error.retry_after) == (code, status, "told", 9.0)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(Unreachable):
        client.me()


def test_a_proxy_is_not_asked_for_this_machine(stand_in: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with Client(stand_in(lambda _: (200, {"ok": True}, {})).url) as client:
        assert client.me() == {"ok": True}


def test_the_root_offers_the_clients_and_nothing_else() -> None:
    assert everloop.Client is Client
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        everloop.Nothing  # noqa: B018 - the look is the test


def test_a_real_server_answers_the_runs(server: RealServer) -> None:
    with Client(server.url, api_key=server.key()) as client:
        limits = {"model_usd_cap": 1}
        client.start_run({"run": "client", "brief": "b", "domain": "synthetic", "limits": dict(limits)})
        assert [one["run"] for one in client.runs()] == ["client"]
        assert client.run("client", compact=True)["state"] == "starting"
        assert client.live("client", since=0)["next_cursor"] == 1
        with pytest.raises(EverloopError) as raised:
            client.round("client", 1)
        assert raised.value.code == "NOT_FOUND"
