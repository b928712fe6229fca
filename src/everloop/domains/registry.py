"""Domains by name."""

from __future__ import annotations

from typing import cast

from everloop.domains.base import Domain
from everloop.plugins import plugin


def domain(name: str) -> Domain:
    """The domain of that name. InvalidRequest, with the known names, when there is none."""
    return cast(Domain, plugin("domain", name))
