"""The schemas of the request bodies say what the service accepts: nothing less, nothing more."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from everloop.api import schemas
from everloop.api.mcp_tools import TOOLS
from everloop.errors import InvalidRequest, InvalidSteer
from everloop.guard.limits import Goal, Limits, Stop
from everloop.service import run_start
from everloop.service.installation import Installation, open_installation
from everloop.service.request import Options, StartRequest, text_of, whole
from everloop.settings import Settings

BODIES = {"start": schemas.START, "steer": schemas.STEER, "directive": schemas.DIRECTIVE, "control": schemas.CONTROL}
ALL = BODIES | {tool.name: tool.schema for tool in TOOLS}
BASE: dict[str, Any] = {
    "run": "r-1",
    "brief": "Improve.",
    "limits": {"model_usd_cap": 1},
    "goal": {"split": "all", "target": 0.5},
    "stop": {},
    "options": {},
}
VALUES: list[Any] = [
    *(None, True, False, [], {}, [1], "", " ", "x", "a\nb", "x-1", "X", "x" * 64, "x" * 65, "x" * 4000, "x" * 4001),
    *(0, 1, -1, 2, 999, 1000, 1001, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 10**12, 10**12 + 1, 10**400),
    *(0.5, 1.5, 1e-6, 9e-7, 1e-300, 1.0000001, 1e12, 1.1e12, -0.5),
]


def closed(schema: Any, path: str = "") -> Iterator[str]:
    """Where an object of a schema takes keys that it does not name."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("additionalProperties") is not False:
            yield path
        for name, below in schema.items():
            yield from closed(below, f"{path}/{name}")


def paths() -> list[tuple[str, ...]]:
    """Every field of a start whose value is no name out of a list."""
    found: list[tuple[str, ...]] = []
    for name, told in schemas.START["properties"].items():  # type: ignore[union-attr]
        found.append((name,))
        found += [(name, inner) for inner in told.get("properties", {})]
    return [one for one in found if "enum" not in _schema_of(one)]


def _schema_of(path: tuple[str, ...]) -> Any:
    told: Any = schemas.START
    for name in path:
        told = told["properties"][name]
    return told


@pytest.mark.parametrize("name", ALL)
def test_a_schema_is_valid_closed_at_every_level_and_plain_at_its_root(name: str) -> None:
    schema: Any = ALL[name]
    Draft202012Validator.check_schema(schema)
    assert list(closed(schema)) == []
    # clients of models refuse tools whose root is no plain object
    assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
    assert schema["type"] == "object"


@pytest.mark.parametrize("name", ALL)
def test_every_field_is_described(name: str) -> None:
    def undescribed(schema: Any, path: str) -> Iterator[str]:
        for field, told in schema.get("properties", {}).items():
            if not told.get("description"):
                yield f"{path}/{field}"
            yield from undescribed(told, f"{path}/{field}")

    assert list(undescribed(ALL[name], "")) == []


@pytest.mark.parametrize(
    ("path", "kind"),
    [((), StartRequest), (("limits",), Limits), (("goal",), Goal), (("stop",), Stop), (("options",), Options)],
)
def test_the_fields_are_those_of_the_service(path: tuple[str, ...], kind: type[Any]) -> None:
    assert set(_schema_of(path)["properties"]) == {field.name for field in fields(kind)}


@pytest.mark.parametrize("path", paths(), ids=".".join)
def test_a_value_of_a_start_fits_the_schema_when_the_service_accepts_it(path: tuple[str, ...]) -> None:
    validator, differ = Draft202012Validator(schemas.START), []
    for value in VALUES:
        document = copy.deepcopy(BASE)
        if path == ("student_model",):
            document["dry_run"] = True
        place = document if len(path) == 1 else document[path[0]]
        place[path[-1]] = value
        if validator.is_valid(document) != _accepted(document):
            differ.append(value)
    assert [str(value)[:40] for value in differ] == []


def _accepted(document: Any) -> bool:
    try:
        StartRequest.from_json(document)
    except InvalidRequest:
        return False
    return True


@pytest.mark.parametrize("name", ["run", "brief", "limits"])
def test_what_is_required_is_required_by_both(name: str) -> None:
    document = copy.deepcopy(BASE)
    del document[name]
    assert not Draft202012Validator(schemas.START).is_valid(document)
    assert not _accepted(document)


@pytest.mark.parametrize("path", [(), ("limits",), ("goal",), ("stop",), ("options",)])
def test_an_unknown_key_is_refused_by_both(path: tuple[str, ...]) -> None:
    document = copy.deepcopy(BASE)
    (document[path[0]] if path else document)["unknown"] = 1
    assert not Draft202012Validator(schemas.START).is_valid(document)
    assert not _accepted(document)


@pytest.mark.parametrize("value", [*VALUES, "a\0b", " \0 ", "\u3000"])
def test_a_text_fits_the_schema_when_the_service_accepts_it(value: Any) -> None:
    try:
        accepted = text_of(value, InvalidSteer, "text") == value
    except InvalidSteer:
        accepted = False
    assert Draft202012Validator(schemas.STEER).is_valid({"text": value}) == accepted


@pytest.mark.parametrize("value", [one for one in VALUES if one is not None])
def test_rounds_of_an_extension_fit_the_schema_when_the_service_accepts_them(value: Any) -> None:
    try:
        accepted = whole(value, "rounds", 1, 1000) == value
    except InvalidRequest:
        accepted = False
    asked = {"action": "extend", "rounds": value}
    assert Draft202012Validator(schemas.CONTROL).is_valid(asked) == accepted


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    opened = open_installation(Settings(home=tmp_path_factory.mktemp("home")))
    yield opened
    opened.close()


@pytest.mark.parametrize("path", [("domain",), *(("options", name) for name in ("operator", "trainer", "gate"))])
def test_a_name_that_the_schema_does_not_list_is_refused_by_the_service(
    installation: Installation, path: tuple[str, ...]
) -> None:
    document = copy.deepcopy(BASE)
    (document if len(path) == 1 else document[path[0]])[path[-1]] = "none-such"
    assert not Draft202012Validator(schemas.START).is_valid(document)
    with pytest.raises(InvalidRequest, match="none-such"):
        run_start.start_document(installation, document)


def test_the_names_that_a_schema_lists_are_those_of_the_installed_plug_ins() -> None:
    options = _schema_of(("options",))["properties"]
    assert {"arith", "synthetic"} <= set(_schema_of(("domain",))["enum"])
    assert {"curriculum", "prompt-search", "agent"} <= set(options["operator"]["enum"])
    assert {"contamination", "regression"} <= set(options["auditors"]["items"]["enum"])
    assert "two_line" in options["gate"]["enum"]


def test_no_description_speaks_python() -> None:
    def descriptions(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            if isinstance(schema.get("description"), str):
                yield schema["description"]
            for below in schema.values():
                yield from descriptions(below)

    for schema in ALL.values():
        assert [one for one in descriptions(schema) if "None" in one or "``" in one or "2**" in one] == []
