"""A plug-in student: the built-in one, its base trained five times as long, its rounds a fifth as long.

At the built-in rate a short round on the same rows throws v0 a little off what it has reached and brings nothing:
measured, every such candidate is worse than v0.
"""

from __future__ import annotations

from dataclasses import replace

from everloop.students.base import TrainSettings
from everloop.students.nano import NanoTrainer

BASE_STEPS, ROUND_STEPS = 2500, 100


class Plateau(NanoTrainer):
    """The built-in student with other numbers of steps."""

    name = "nano-plateau"

    def defaults(self, *, base: bool) -> TrainSettings:
        return replace(super().defaults(base=base), steps=BASE_STEPS if base else ROUND_STEPS)
