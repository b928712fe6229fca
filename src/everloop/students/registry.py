"""Trainers by name."""

from __future__ import annotations

from typing import cast

from everloop.plugins import plugin
from everloop.students.base import Trainer


def trainer(name: str) -> Trainer:
    """The trainer of that name. InvalidRequest, with the known names, when there is none."""
    return cast(Trainer, plugin("trainer", name))
