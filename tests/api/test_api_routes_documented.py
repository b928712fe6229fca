"""The page on the REST API: it names every route, says truly what each needs, and its commands run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from calling import Api
from carrying import Carried

from everloop.service.permissions import KeyKind, Permission

PAGE = (Path(__file__).parents[2] / "docs" / "rest-api.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (GET|POST|PUT|DELETE) \| `([^`]+)` \| .*? \| ([^|]+) \|$", PAGE, re.MULTILINE)
NEEDS = {(method, path): needs.strip() for method, path, needs in ROWS}
COMMANDS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
GIVEN = [one for one in Permission if one is not Permission.MANAGE]
BODIES = {"POST": {}, "PUT": {}}
LATER = {path for _, path in NEEDS if path.startswith("/v1/auth/")} | {"/openapi.json"}


def at(path: str) -> str:
    own = re.sub(r"\{(workspace|project)_id\}", "local", path)
    return re.sub(r"\{\w+\}", "1", own)


def test_every_route_stands_on_the_page_and_nothing_else(shared: Api) -> None:
    document = shared.app.openapi()["paths"]
    routes = {(method.upper(), path) for path, methods in document.items() for method in methods}
    assert routes - set(NEEDS) == set()
    assert {(method, path) for method, path in NEEDS if path not in LATER} - routes == set()


@pytest.mark.parametrize(("method", "path"), [one for one in NEEDS if NEEDS[one] != "no key"])
def test_without_a_key_it_is_not_answered(shared: Api, method: str, path: str) -> None:
    assert shared.request(method, at(path), json=BODIES.get(method)).status == 401


@pytest.mark.parametrize(("method", "path"), [one for one in NEEDS if NEEDS[one] == "no key" and one[1] not in LATER])
def test_where_none_is_needed_none_is_asked_for(shared: Api, method: str, path: str) -> None:
    assert shared.request(method, at(path)).status in {200, 403}


@pytest.mark.parametrize(("method", "path"), [one for one in NEEDS if "`" in NEEDS[one]])
def test_it_needs_the_permissions_the_page_names_and_no_other(shared: Api, method: str, path: str) -> None:
    named = set(re.findall(r"`([\w.]+)`", NEEDS[method, path].partition(", to stop")[0]))
    for missing in named:
        rest = [one for one in GIVEN if one != missing]
        answer = shared.request(method, at(path), key=shared.key(KeyKind.CUSTOM, *rest), json=BODIES.get(method))
        assert (answer.status, answer.code) == (403, "ACCESS_DENIED"), f"without {missing}"
    if str(Permission.MANAGE) not in named:
        enough = shared.key(KeyKind.CUSTOM, *(Permission(one) for one in named))
        assert shared.request(method, at(path), key=enough, json=BODIES.get(method)).status != 403


@pytest.mark.parametrize(("method", "path"), [one for one in NEEDS if NEEDS[one] == "any key"])
def test_any_key_is_any_key(shared: Api, method: str, path: str) -> None:
    assert shared.request(method, at(path), key=shared.key(KeyKind.CUSTOM, Permission.STOP)).status == 200


def test_the_commands_of_the_page_run(carried: Carried, tmp_path: Path) -> None:
    environment = os.environ | {"EVERLOOP_BASE_URL": carried.api.url, "EVERLOOP_API_KEY": carried.key, "no_proxy": "*"}
    told = ""
    for command in COMMANDS:
        script = f'set -eo pipefail\ncurl() {{ command curl --fail-with-body "$@"; }}\n{command}'
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        told += done.stdout
    assert len(COMMANDS) == 7
    assert "}304\n" in told and '"status":"cancelled"' in told and "manifest.json" in told
