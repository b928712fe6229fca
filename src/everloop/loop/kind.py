"""What differs between the kinds of runs: how versions are made, what a candidate may change, who answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from everloop.events import Json
from everloop.loop.context import Context
from everloop.loop.lines import Artifact, Control, Lines
from everloop.operators.base import Plan
from everloop.students.base import Row


class Student(Protocol):
    """Who answers items. `key` names the occasion, unique in the run: what is paid for it is paid once."""

    def answers(self, artifact: Path, prompts: Sequence[str], key: str) -> list[str | None]:
        """One greedy answer a prompt, None where the evaluation failed. EvaluationFailed when none took place."""


class Kind(Protocol):
    """One kind of run. `everloop.loop.kinds` has them by the run's mode."""

    @property
    def subject(self) -> str:
        """Which plans it takes: ``training`` or ``prompt``; a briefing's `subject`."""

    @property
    def targets(self) -> frozenset[str]:
        """What a candidate may change: the allow-list of the activity space."""

    def student(self, context: Context) -> Student:
        """Who answers."""

    def base(self, context: Context) -> Artifact:
        """Build v0."""

    def control(self, context: Context, lines: Lines) -> Control | None:
        """The control arm before its first block; None where nothing is trained."""

    def refuses(self, plan: Plan) -> str | None:
        """Why a plan is not one of this kind; None when it is."""

    def gather(self, context: Context, number: int, name: str, plan: Plan) -> Json:
        """Phase: what the candidate is made of; no training yet."""

    def changes(self, plan: Plan, head: Plan | None) -> frozenset[str]:
        """Targets that a plan changes beyond doubt, whatever its interventions say."""

    def rows(self, context: Context, plan: Plan, gathered: Json) -> list[Row]:
        """Items that become part of the candidate, for the check of contamination."""

    def defects(self, context: Context, plan: Plan) -> list[str]:
        """What else is wrong with what it is made of."""

    def block(self, lines: Lines, number: int, plan: Plan) -> tuple[Lines, Json | None]:
        """The lines with the control's next block, and that block; None where there is no control."""

    def build(self, context: Context, number: int, name: str, plan: Plan, gathered: Json, block: Json) -> Artifact:
        """Build the candidate. Failure when it could not be built."""

    def verify(self, artifact: Path) -> str:
        """Hash of an artifact as it is now. CheckpointCorrupt when it is not whole."""
