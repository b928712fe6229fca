"""Plug-ins by name, from entry points; each floor's registry gives its own type to what is found."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from everloop.errors import InvalidRequest


@cache
def plugin(kind: str, name: str) -> object:
    """An instance of the plug-in `name` of the group ``everloop.KINDs``, made once.

    InvalidRequest, with the known names, when there is none.
    """
    found = {point.name: point for point in entry_points(group=f"everloop.{kind}s")}
    if name not in found:
        raise InvalidRequest(f"unknown {kind} {name!r}", why=f"known: {', '.join(sorted(found)) or 'none'}")
    return found[name].load()()
