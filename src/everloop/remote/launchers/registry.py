"""Launchers by name."""

from __future__ import annotations

from typing import cast

from everloop.plugins import plugin
from everloop.remote.launchers.base import Launcher


def launcher(name: str) -> Launcher:
    """The launcher of that name. InvalidRequest, with the known names, when there is none."""
    return cast(Launcher, plugin("launcher", name))
