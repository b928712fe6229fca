"""Odd texts in every place of every address: refused in words, never a fault of the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from calling import Api, Session

from everloop.api.app import PREFIXES
from everloop.service.permissions import Role

ODD = {
    "slash": "a%2Fb",
    "dots": "%2e%2e",
    "long": "a" * 10_000,
    "zero": "a%00b",
    "line": "a%0Ab%0D",
    "quotes": "%27%22%3B--",
    "letters": "%C3%A9%E2%80%AE%F0%9F%92%A5",
    "no letters": "%FF%FE",
    "half": "%ED%A0%80",
    "percent": "%25",
    "space": "%20",
    "star": "*",
    "number": "9" * 400,
}
BODY: dict[str, Any] = {"POST": {}, "PUT": {}}


def operations(api: Api) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in api.app.openapi()["paths"].items():
        if path.startswith(f"{PREFIXES[0]}/"):
            for method, operation in methods.items():
                yield method.upper(), path, operation


@pytest.fixture(scope="module")
def callers(shared: Api) -> tuple[str, Session]:
    return shared.key(), shared.person(Role.ADMIN)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_in_a_path_is_refused_and_breaks_nothing(
    shared: Api, callers: tuple[str, Session], name: str
) -> None:
    for method, path, _ in operations(shared):
        for parameter in re.findall(r"\{(\w+)\}", path):
            own = {"workspace_id": "local", "project_id": "local"} | {parameter: ODD[name]}
            at = re.sub(r"\{(\w+)\}", lambda found, own=own: own.get(found[1], "x"), path)
            for who in callers:
                answer = shared.request(method, at, key=who, json=BODY.get(method))
                assert answer.status in {403, 404, 409, 422}, f"{method} {at[:200]}: {answer.text}"
                assert len(answer.content) < 8192


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_in_a_query_breaks_nothing(shared: Api, callers: tuple[str, Session], name: str) -> None:
    for method, path, operation in operations(shared):
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query":
                at = re.sub(r"\{(workspace|project)_id\}", "local", path)
                at = re.sub(r"\{\w+\}", "x", at) + f"?{parameter['name']}={ODD[name]}"
                for who in callers:
                    answer = shared.request(method, at, key=who)
                    assert answer.status < 500, f"{at[:200]}: {answer.text}"


def test_a_query_that_is_given_twice_or_not_known_breaks_nothing(shared: Api, callers: tuple[str, Session]) -> None:
    for query in ("limit=1&limit=x", "surprise=1", "limit", "&&=", "%ZZ", "cursor[]=1"):
        assert shared.get(f"/v1/job?{query}", key=callers[0]).status in {200, 422}


def test_every_list_keeps_to_its_bound(shared: Api, callers: tuple[str, Session]) -> None:
    seen = 0
    for method, path, operation in operations(shared):
        if any(one["name"] == "limit" for one in operation.get("parameters", [])):
            at = re.sub(r"\{(workspace|project)_id\}", "local", path)
            if "{" not in at:
                seen += 1
                for limit in ("0", "-1", "1000000", "1.5", "x"):
                    answer = shared.request(method, f"{at}?limit={limit}", key=callers[1])
                    assert (answer.status, answer.code) == (422, "INVALID_LIMIT"), at
    assert seen >= 7
