"""Answers of trained checkpoints, from the worker's own samplers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from everloop.errors import EvaluationFailed
from everloop.ledger import reservations
from everloop.loop.context import Context

log = logging.getLogger("everloop.loop")

T = TypeVar("T")

TRIES = 3
"""How often a sampling request is tried before the measurement fails."""


class TrainedStudent:
    """The student of a run that trains."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def answers(self, artifact: Path, prompts: Sequence[str], key: str) -> list[str | None]:
        """One greedy answer a prompt."""
        self._count(len(prompts), key)
        student = self._context.means.students.student(self._context.trainer.name)
        return _tried(lambda: student.answers(artifact, prompts))

    def samples(self, artifact: Path, prompts: Sequence[str], key: str, *, k: int, seed: int) -> list[list[str]]:
        """`k` samples at temperature 1 a prompt; the same seed gives the same ones."""
        self._count(len(prompts) * k, key)
        student = self._context.means.students.student(self._context.trainer.name)
        return _tried(lambda: student.samples(artifact, prompts, k=k, temperature=1.0, seed=seed))

    def _count(self, requests: int, key: str) -> None:
        """Count requests to a billed student against its cap before they are made."""
        if not self._context.trainer.capabilities().billed:
            return
        means, run = self._context.means, self._context.run

        def spend() -> None:
            with means.database.write(durable=True, worker=means.worker) as tx:
                reservations.reserve(tx, run, key, student_requests=requests)
                reservations.settle(tx, run, key, student_requests=requests)

        means.database.retrying(spend)


def _tried(request: Callable[[], list[T]]) -> list[T]:
    for _ in range(TRIES - 1):
        try:
            return request()
        except EvaluationFailed:
            log.warning("sampling failed; trying again", exc_info=True)
    return request()
