"""Failures of a diagnosis become experiences. Pure: storing them is the loop's part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from everloop.domains.base import Item
from everloop.experience.base import Experience
from everloop.experience.filter import Record, sort

MASTERED = 0.98
"""Rate from which a family's failures are slips, no lesson."""
LONGEST = 200
"""Characters of an answer that are kept."""


class Notes(Protocol):
    """The part of a domain that writes improvement notes."""

    def note(self, item: Item, answer: str) -> str:
        """What went wrong and what would mend it."""


def collect(
    domain: Notes,
    items: Sequence[Item],
    texts: Sequence[str | None],
    outcomes: Sequence[bool | None],
    *,
    per_family: int,
) -> list[Experience]:
    """Experiences from the wrong answers, in the items' order.

    At most `per_family` from a family, none from a mastered one, none twice; records without a verdict are left out
    and do not count for the rate.
    """
    records = (Record(item, text, outcome) for item, text, outcome in zip(items, texts, outcomes, strict=True))
    valid = sort(records).valid
    known = mastered(valid)
    lessons = [record for record in valid if not record.outcome and record.item.family not in known]
    return balanced(deduplicated(_experience(domain, record) for record in lessons), per_family)


def mastered(records: Sequence[Record]) -> frozenset[str]:
    """Families whose rate over valid records is at least `MASTERED`."""
    asked = Counter(record.item.family for record in records)
    right = Counter(record.item.family for record in records if record.outcome)
    return frozenset(family for family, n in asked.items() if right[family] / n >= MASTERED)


def deduplicated(experiences: Iterable[Experience]) -> list[Experience]:
    """The first of each content hash, in order."""
    first: dict[str, Experience] = {}
    for one in experiences:
        first.setdefault(one.content_hash, one)
    return list(first.values())


def balanced(experiences: Iterable[Experience], per_family: int) -> list[Experience]:
    """At most so many of a family, the first ones, in order."""
    taken: Counter[str] = Counter()
    kept = []
    for one in experiences:
        if taken[one.family] < per_family:
            taken[one.family] += 1
            kept.append(one)
    return kept


def _experience(domain: Notes, record: Record) -> Experience:
    item, answer = record.item, record.answer or ""
    return Experience(
        family=item.family,
        goal=item.prompt,
        observed=f"a task of the family {item.family}, given as text",
        action=answer[:LONGEST],
        feedback="the verifier calls the answer wrong",
        improvement=domain.note(item, answer),
        gold=item.answer,
    )
