"""Domains by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import cast

from everloop.domains.base import Domain
from everloop.errors import InvalidRequest

GROUP = "everloop.domains"


@cache
def domain(name: str) -> Domain:
    """The domain of that name. InvalidRequest, with the known names, when there is none."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise InvalidRequest(f"unknown domain {name!r}", why=f"known: {', '.join(sorted(found)) or 'none'}")
    return cast(Domain, found[name].load()())
