"""Whether the libraries that speak to models are those this package needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal

CORE = "pydantic-ai-slim"
"""The library over all providers; it names what it needs of a provider's own."""


@dataclass(frozen=True, slots=True)
class Library:
    """What was found."""

    result: Literal["ok", "fail"]
    """``fail`` when one is missing or too old."""
    told: str
    """Versions, and what is wrong with one."""
    then: str = ""
    """What to do; empty when all is well."""


def library(anthropic: bool) -> Library:
    """The libraries of one wire shape."""
    sdk = "anthropic" if anthropic else "openai"
    wanted = [(CORE, least("everloop", CORE)), (sdk, least(CORE, sdk))]
    then = "Install everloop again: pip install --upgrade everloop"
    told = []
    for name, needed in wanted:
        try:
            found = version(name)
        except PackageNotFoundError:
            return Library("fail", f"{name} is not installed", then)
        if _numbers(found) < _numbers(needed):
            return Library("fail", f"{name} {found} is too old: {needed} or later is needed", then)
        told.append(f"{name} {found} (from {needed})" if needed else f"{name} {found}")
    return Library("ok", ", ".join(told))


def least(of: str, name: str) -> str:
    """The version of `name` that the installed package `of` needs at least; empty when it says none."""
    try:
        needs = requires(of) or []
    except PackageNotFoundError:
        return ""
    for need in needs:
        found = re.match(rf"{re.escape(name)}(?:\[[^\]]*\])?[^;]*?>=\s*([0-9.]+)", need)
        if found and re.match(rf"{re.escape(name)}(?![\w.-])", need):
            return found[1]
    return ""


def _numbers(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", text.partition("+")[0])]
    return tuple([*numbers, 0, 0, 0][:3])
