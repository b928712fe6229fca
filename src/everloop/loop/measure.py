"""Measuring: outcomes of a checkpoint on items, paired and per family. A measurement that fails is never a score."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from everloop.domains.base import Item
from everloop.errors import CheckpointCorrupt, EvaluationFailed, IncumbentUnavailable
from everloop.evidence.score import Score
from everloop.evidence.tally import Outcome, Tally
from everloop.ledger import reservations
from everloop.loop.context import Context

log = logging.getLogger("everloop.loop")

T = TypeVar("T")

TRIES = 3
"""How often a sampling request is tried before the measurement fails."""

FamilyTallies = dict[str, Tally]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a checkpoint answered to items, judged."""

    texts: tuple[str | None, ...]
    """The answers; None where the evaluation failed."""
    outcomes: tuple[Outcome, ...]
    """Right, wrong or missing."""
    formed: int
    """Answers that have the form the domain asks for."""

    @property
    def bits(self) -> str:
        """One character an item: ``1``, ``0``, ``-``."""
        return "".join("-" if outcome is None else "01"[outcome] for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class Measure:
    """Measures checkpoints for one run; `key` names the occasion in the ledger."""

    context: Context
    """The run."""
    key: str
    """Occasion, unique in the run: ``r3.evaluate.r3c1``."""

    def candidate(self, checkpoint: Path, items: Sequence[Item]) -> Answers:
        """Answers of a candidate. EvaluationFailed when it cannot be measured; the candidate is rejected for it."""
        return self._answers(checkpoint, items, "candidate")

    def incumbent(self, checkpoint: Path, items: Sequence[Item]) -> Answers:
        """Answers of a checkpoint the run stands on. IncumbentUnavailable when it cannot be measured."""
        try:
            return self._answers(checkpoint, items, "incumbent")
        except (EvaluationFailed, CheckpointCorrupt) as error:
            raise IncumbentUnavailable(
                "the incumbent could not be measured", why=error.message, then="Mend it, then resume the run"
            ) from error

    def samples(self, checkpoint: Path, items: Sequence[Item], k: int, seed: int) -> list[list[str]]:
        """`k` samples at temperature 1 for each item, from a checkpoint the run stands on."""
        self._count(len(items) * k, "samples")
        prompts = [item.prompt for item in items]
        student = self.context.means.students.student(self.context.trainer.name)
        try:
            return _tried(lambda: student.samples(checkpoint, prompts, k=k, temperature=1.0, seed=seed))
        except (EvaluationFailed, CheckpointCorrupt) as error:
            raise IncumbentUnavailable(
                "the incumbent could not be sampled", why=error.message, then="Mend it, then resume the run"
            ) from error

    def _answers(self, checkpoint: Path, items: Sequence[Item], who: str) -> Answers:
        self._count(len(items), who)
        prompts = [item.prompt for item in items]
        student = self.context.means.students.student(self.context.trainer.name)
        texts = _tried(lambda: student.answers(checkpoint, prompts))
        verify, well_formed = self.context.domain.verify, self.context.domain.well_formed
        pairs = list(zip(items, texts, strict=True))
        outcomes = tuple(None if text is None else verify(item, text) for item, text in pairs)
        formed = sum(1 for item, text in pairs if text is not None and well_formed(item, text))
        return Answers(tuple(texts), outcomes, formed)

    def _count(self, requests: int, who: str) -> None:
        """Count requests to a billed student against its cap before they are made."""
        if not self.context.trainer.capabilities().billed:
            return
        means, run, key = self.context.means, self.context.run, f"{self.key}.{who}"

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


def by_family(items: Sequence[Item], candidate: Sequence[Outcome], baseline: Sequence[Outcome]) -> FamilyTallies:
    """Paired counts of each family, in order of appearance."""
    split: dict[str, tuple[list[Outcome], list[Outcome]]] = {}
    for item, one, other in zip(items, candidate, baseline, strict=True):
        mine, theirs = split.setdefault(item.family, ([], []))
        mine.append(one)
        theirs.append(other)
    return {family: Tally.of(mine, theirs) for family, (mine, theirs) in split.items()}


def outcomes_of(bits: str) -> tuple[Outcome, ...]:
    """The inverse of `Answers.bits`."""
    return tuple(None if bit == "-" else bit == "1" for bit in bits)


def scores(items: Sequence[Item], outcomes: Sequence[Outcome]) -> dict[str, Score]:
    """Score over all items (``all``) and of each family."""
    split: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for item, outcome in zip(items, outcomes, strict=True):
        split.setdefault(item.family, []).append(outcome)
    return {name: Score.of(values) for name, values in split.items()}
