"""A domain without content, for tests of the engine, benchmarks and self-tests of gates.

An item is a family's name and a number; its answer is a hash of the prompt. The synthetic student
(`everloop.students.synthetic`) computes the same hash, and answers rightly as often as its quality says.
"""

from __future__ import annotations

import hashlib
import re

from everloop.domains.base import Item, Verifier
from everloop.errors import InvalidRequest

FAMILIES = ("s1", "s2", "s3", "s4")
SIZE = 1 << 40
_FORM = re.compile(r"[0-9]{6}")


def answer_to(prompt: str) -> str:
    """The right answer to a prompt: six digits."""
    return f"{int.from_bytes(hashlib.sha256(f'answer:{prompt}'.encode()).digest()[:8], 'big') % 1_000_000:06d}"


class Synthetic:
    """Four families of 2**40 items each: two that the base version knows well and two that it hardly knows."""

    name = "synthetic"
    judge = ("synthetic-exact", "1")
    verifier = Verifier.HARD

    def families(self) -> tuple[str, ...]:
        """``s1`` to ``s4``."""
        return FAMILIES

    def size(self, family: str) -> int:
        """2**40 for each family."""
        if family not in FAMILIES:
            raise InvalidRequest(f"unknown family {family!r}", why=f"known: {', '.join(FAMILIES)}")
        return SIZE

    def supply(self, family: str) -> int:
        """Every index holds an item."""
        return self.size(family)

    def item(self, family: str, index: int) -> Item:
        """The item ``family:index``."""
        if not 0 <= index < self.size(family):
            raise InvalidRequest(f"family {family} has no index {index}")
        prompt = f"{family}:{index}"
        return Item(family, prompt, answer_to(prompt))

    def starter_rows(self, family: str) -> int:
        """600 rows of ``s1`` and ``s2``, 60 of ``s3`` and ``s4``."""
        return 600 if family in FAMILIES[:2] else 60

    def verify(self, item: Item, answer: str) -> bool:
        """Whether the answer is the gold answer, to the character."""
        return answer == item.answer

    def well_formed(self, item: Item, answer: str) -> bool:  # noqa: ARG002 - the form does not depend on the item
        """Whether the answer is six digits."""
        return _FORM.fullmatch(answer) is not None

    def note(self, item: Item, answer: str) -> str:
        """Says the family and the answer."""
        return f"{item.family} was answered {answer!r}; more verified rows of {item.family} would mend it"
