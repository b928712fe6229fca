from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from access_world import installation_on, other_project, person

from everloop.errors import AccessDenied, InvalidCursor, InvalidLimit
from everloop.events import Json
from everloop.service import audit
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.pages import Page, cursor
from everloop.service.permissions import Role
from everloop.store.database import Database


@pytest.fixture
def installation(database: Database, tmp_path: Path) -> Installation:
    return installation_on(database, tmp_path / "home")


def record(installation: Installation, caller: Caller | None, action: str, **rest: str | None) -> None:
    texts = {"target": None, "code": None, "request_id": None, "address": None, **rest}
    audit.record(installation, caller=caller, surface="api", action=action, status=200, **texts)


def actions(page: Page) -> list[object]:
    return [row["action"] for row in page.items]


def test_an_admin_reads_what_happened_in_the_project_newest_first(installation: Installation) -> None:
    project = other_project(installation)
    admin = person(installation, "a@b.c", Role.ADMIN)
    record(installation, LOCAL, "one", target="t", request_id="r", address="::1")
    record(installation, replace(LOCAL, project_id=project), "elsewhere")
    record(installation, None, "sign-in")
    record(installation, admin, "two")
    page = audit.pages(installation, admin)
    assert actions(page) == ["two", "one"] and page.next_cursor is None
    first: Json = dict(page.items[1])
    assert first.pop("id") and str(first.pop("at")).endswith("Z")
    assert first == {
        "workspace_id": "local",
        "project_id": "local",
        "subject": "local",
        "surface": "api",
        "action": "one",
        "target": "t",
        "status": 200,
        "code": None,
        "request_id": "r",
        "address": "::1",
    }
    assert actions(audit.pages(installation, LOCAL)) == ["two", "sign-in", "elsewhere", "one"]
    assert actions(audit.pages(installation, LOCAL, project_id=project)) == ["elsewhere"]
    assert actions(audit.pages(installation, admin, project_id=project)) == ["two", "one"]


def test_the_log_is_read_page_by_page(installation: Installation) -> None:
    for number in range(5):
        record(installation, LOCAL, str(number))
    found: list[object] = []
    place: str | None = None
    for _ in range(3):
        page = audit.pages(installation, LOCAL, 2, place)
        found += actions(page)
        place = page.next_cursor
    assert found == ["4", "3", "2", "1", "0"] and place is None


def test_only_who_manages_the_project_reads_the_log(installation: Installation) -> None:
    with pytest.raises(AccessDenied):
        audit.pages(installation, person(installation, "a@b.c", Role.DEVELOPER))


def test_a_page_that_cannot_be_is_refused(installation: Installation) -> None:
    for place in ("x", cursor(("a",)), cursor(("1", "2")), cursor(("9" * 19,)), cursor(("-1",)), cursor(("²",))):
        with pytest.raises(InvalidCursor):
            audit.pages(installation, LOCAL, None, place)
    with pytest.raises(InvalidLimit):
        audit.pages(installation, LOCAL, 101)


def test_whatever_a_request_brings_can_be_recorded(installation: Installation) -> None:
    odd = "\0\n\ud800" + "x" * 1000
    nobody = Caller(subject=odd, workspace_id="", project_id="")
    audit.record(
        installation,
        caller=nobody,
        surface=odd[3:],
        action=odd,
        target=odd,
        status=401,
        code=odd,
        request_id=odd,
        address=odd,
    )
    (row,) = audit.pages(installation, LOCAL).items
    assert (row["workspace_id"], row["project_id"]) == (None, None)
    lengths = {"subject": 256, "action": 128, "target": 256, "code": 128, "request_id": 64, "address": 64}
    assert {name: len(str(row[name])) for name in lengths} == lengths
    assert str(row["target"]).startswith("\ufffd \ufffdx")
