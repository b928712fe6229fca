"""Whatever a user can name, the docs name: public API, commands, options, settings, errors, limits, gates, plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import click
import pytest

import everloop
from everloop import errors
from everloop.cli.main import el
from everloop.errors import EverloopError
from everloop.guard.limits import Goal, Limits, Stop
from everloop.service.request import Options
from everloop.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def mentioned(name: str) -> bool:
    """Whether the docs hold the name as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", TEXT) is not None


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def _packages() -> list[str]:
    inside = pkgutil.walk_packages(everloop.__path__, "everloop.")
    return ["everloop", *(found.name for found in inside if found.ispkg)]


def _public() -> list[str]:
    names = []
    for package in _packages():
        names += [f"{package}:{name}" for name in getattr(importlib.import_module(package), "__all__", ())]
    return names


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, (*path, name))


COMMANDS = dict(_commands(el, ("el",)))


def _codes() -> dict[str, int]:
    def below(kind: type[EverloopError]) -> Iterator[type[EverloopError]]:
        yield kind
        for inner in kind.__subclasses__():
            yield from below(inner)

    return {kind.code: kind.status for kind in below(EverloopError) if kind.__module__ == errors.__name__}


@pytest.mark.parametrize("name", _public())
def test_public_name_is_documented(name: str) -> None:
    package, _, public = name.partition(":")
    assert mentioned(public), f"docs/python-api.md does not mention {public} of {package}"


def test_there_are_public_names_to_check() -> None:
    assert len(_public()) > 20


@pytest.mark.parametrize("path", COMMANDS)
def test_command_and_its_options_are_documented(path: str) -> None:
    told = _section(path)
    for parameter in COMMANDS[path].params:
        names = parameter.opts if isinstance(parameter, click.Option) else []
        for option in names:
            if option.startswith("--"):
                assert re.search(rf"{option}(?![\w-])", told), f"docs/cli.md does not mention {option} of {path}"


def _section(path: str) -> str:
    """What docs/cli.md says under the heading of a command; all before the first command for ``el`` itself."""
    before, *sections = re.split(r"^#+ `(?=el )", page("cli.md"), flags=re.MULTILINE)
    found = {heading.partition("`")[0]: heading for heading in sections} | {"el": before}
    assert path in found, f"docs/cli.md has no section of {path}"
    return found[path]


@pytest.mark.parametrize("field", Settings.model_fields)
def test_setting_is_documented(field: str) -> None:
    assert f"`EVERLOOP_{field.upper()}`" in page("settings.md")


@pytest.mark.parametrize(("code", "status"), sorted(_codes().items()))
def test_error_code_is_documented_with_its_status(code: str, status: int) -> None:
    row = next((line for line in page("errors.md").splitlines() if f"`{code}`" in line), "")
    assert str(status) in row, f"docs/errors.md has no row of {code} with status {status}"


@pytest.mark.parametrize(
    "key", [*Limits.__dataclass_fields__, *Stop.__dataclass_fields__, *Options.__dataclass_fields__]
)
def test_key_of_a_start_is_documented(key: str) -> None:
    assert f"`{key}`" in page("settings.md")


@pytest.mark.parametrize(("field", "of"), [(name, "Limits") for name in Limits.__dataclass_fields__])
def test_default_of_a_limit_is_the_documented_one(field: str, of: str) -> None:
    default = Limits(model_usd_cap=1.0).to_json()[field]
    told = "required" if field == "model_usd_cap" else "none" if default is None else f"{default:,}"
    row = next(line for line in page("settings.md").splitlines() if line.startswith(f"| `{field}`"))
    assert row.split("|")[2].strip() == told


def test_goal_is_documented() -> None:
    assert all(f"`goal.{name}`" in page("settings.md") for name in Goal.__dataclass_fields__)


def test_gate_policies_are_documented() -> None:
    from everloop.evidence.gates.registry import GATES

    missing = [name for name in GATES if not mentioned(name)]
    assert missing == []


def _plugins() -> list[str]:
    built_in = [point for point in distribution("everloop").entry_points if point.group.startswith("everloop.")]
    return sorted(f"{point.group}:{point.name}" for point in built_in)


@pytest.mark.parametrize("plugin", _plugins())
def test_plugin_and_its_group_are_documented(plugin: str) -> None:
    group, _, name = plugin.partition(":")
    assert mentioned(group)
    assert f"`{name}`" in TEXT
