"""A plug-in student: the built-in one, its base trained until more of the same brings little, its rounds short."""

from __future__ import annotations

from dataclasses import replace

from everloop.students.base import TrainSettings
from everloop.students.nano import NanoTrainer

BASE_STEPS, ROUND_STEPS = 2000, 100
RATE = 1.5e-4
"""Where the base's own schedule ends (.05 of 3e-3): a higher rate throws it off its plateau by two points."""


class Plateau(NanoTrainer):
    """The built-in student with four times the steps for v0, and short rounds at the rate v0 ended with."""

    name = "nano-plateau"

    def defaults(self, *, base: bool) -> TrainSettings:
        usual = super().defaults(base=base)
        return replace(usual, steps=BASE_STEPS) if base else replace(usual, steps=ROUND_STEPS, learning_rate=RATE)
