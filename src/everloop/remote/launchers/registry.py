"""Launchers by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import cast

from everloop.errors import InvalidRequest
from everloop.remote.launchers.base import Launcher

GROUP = "everloop.launchers"


@cache
def launcher(name: str) -> Launcher:
    """The launcher of that name. InvalidRequest, with the known names, when there is none."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise InvalidRequest(f"unknown launcher {name!r}", why=f"known: {', '.join(sorted(found)) or 'none'}")
    return cast(Launcher, found[name].load()())
