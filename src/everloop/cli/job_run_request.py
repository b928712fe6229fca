"""The document of a start, out of options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TextIO

import click

from everloop.events import Json, JsonValue

LISTS, WHOLE = ("auditors",), ("seed",)
"""Keys of ``options`` whose value is a list of names, or a number."""


def text(given: str | None, file: TextIO | None, option: str) -> str:
    """The text of an option or of the file that stands for it; exactly one must be there."""
    if (given is None) == (file is None):
        raise click.UsageError(f"give {option} or {option}-file, one of them")
    if given is not None:
        return given
    assert file is not None
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{option}-file holds no UTF-8 text") from error


def given(document: Mapping[str, JsonValue]) -> Json:
    """What is not None."""
    return {name: value for name, value in document.items() if value is not None}


def nested(name: str, document: Mapping[str, JsonValue]) -> Json:
    """An object under a name, unless it is empty."""
    found = given(document)
    return {name: found} if found else {}


def numbers(pairs: Sequence[str], option: str) -> Json:
    """``KEY=N`` pairs."""
    return {name: _number(value, name, option) for name, value in _pairs(pairs, option).items()}


def options(pairs: Sequence[str]) -> Json:
    """``KEY=VALUE`` pairs of ``options``."""
    return {name: _option(name, value) for name, value in _pairs(pairs, "--option").items()}


def goal(pair: str | None) -> JsonValue:
    """``SPLIT=TARGET``."""
    if pair is None:
        return None
    ((split, target),) = _pairs([pair], "--goal").items()
    return {"split": split, "target": _number(target, split, "--goal")}


def _option(name: str, value: str) -> JsonValue:
    if name in LISTS:
        return [one.strip() for one in value.split(",") if one.strip()]
    return _number(value, name, "--option") if name in WHOLE else value


def _pairs(pairs: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals or not value:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=f"'{option}'")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice", param_hint=f"'{option}'")
        found[name] = value
    return found


def _number(text: str, name: str, option: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise click.BadParameter(f"{name!r} needs a number", param_hint=f"'{option}'")
    return value
