"""Operators by name."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from everloop.errors import InvalidRequest
from everloop.operators.base import Operator

GROUP = "everloop.operators"


def operator(name: str) -> Operator:
    """The operator of that name. InvalidRequest, with the known names, when there is none."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise InvalidRequest(f"unknown operator {name!r}", why=f"known: {', '.join(sorted(found)) or 'none'}")
    return cast(Operator, found[name].load()())
