"""Measuring: outcomes of a checkpoint on items, paired and per family. A measurement that fails is never a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from everloop.domains.base import Item
from everloop.evidence.score import Score
from everloop.evidence.tally import Outcome, Tally
from everloop.loop.context import Context
from everloop.loop.failure import incumbent
from everloop.loop.kinds import kind_of

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
    """Measures versions and candidates of one run; `key` names the occasion in the ledger."""

    context: Context
    """The run."""
    key: str
    """Occasion, unique in the run: ``r3.evaluate.r3c1``."""

    def candidate(self, checkpoint: Path, items: Sequence[Item]) -> Answers:
        """Answers of a candidate. EvaluationFailed when it cannot be measured; the candidate is rejected for it."""
        return self._answers(checkpoint, items, "candidate")

    def incumbent(self, checkpoint: Path, items: Sequence[Item]) -> Answers:
        """Answers of a checkpoint the run stands on. IncumbentUnavailable when it cannot be measured."""
        with incumbent("measured"):
            return self._answers(checkpoint, items, "incumbent")

    def _answers(self, checkpoint: Path, items: Sequence[Item], who: str) -> Answers:
        student = kind_of(self.context).student(self.context)
        texts = student.answers(checkpoint, [item.prompt for item in items], f"{self.key}.{who}")
        verify, well_formed = self.context.domain.verify, self.context.domain.well_formed
        pairs = list(zip(items, texts, strict=True))
        outcomes = tuple(None if text is None else verify(item, text) for item, text in pairs)
        formed = sum(1 for item, text in pairs if text is not None and well_formed(item, text))
        return Answers(tuple(texts), outcomes, formed)


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
