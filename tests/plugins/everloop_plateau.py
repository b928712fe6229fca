"""A plug-in student: the built-in one, its base trained until more of the same brings little, its rounds short."""

from __future__ import annotations

from dataclasses import replace

from everloop.students.base import TrainSettings
from everloop.students.nano import NanoTrainer

BASE_STEPS, ROUND_STEPS = 2500, 100


class Plateau(NanoTrainer):
    """The built-in student with five times the steps for v0 and a fifth of them for a candidate."""

    name = "nano-plateau"

    def defaults(self, *, base: bool) -> TrainSettings:
        return replace(super().defaults(base=base), steps=BASE_STEPS if base else ROUND_STEPS)
