"""Operators by name."""

from __future__ import annotations

from typing import cast

from everloop.operators.base import Operator
from everloop.plugins import plugin


def operator(name: str) -> Operator:
    """The operator of that name. InvalidRequest, with the known names, when there is none."""
    return cast(Operator, plugin("operator", name))
