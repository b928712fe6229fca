"""What a domain is: task families, an item generator, a verifier."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Verifier(StrEnum):
    """How far a domain's verifier can be trusted."""

    HARD = "hard"
    """Exact: a wrong answer never passes."""
    SOFT = "soft"
    """A judgement: a person approves each certification."""
    NONE = "none"
    """No verifier: runs are refused."""


@dataclass(frozen=True, slots=True)
class Item:
    """One task instance."""

    family: str
    """Task type within the domain."""
    prompt: str
    """What the student is given."""
    answer: str
    """The gold answer; never shown to a student."""

    @property
    def content_hash(self) -> str:
        """SHA-256 hex of the prompt: what decides the item's set and what duplicates are found by."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()


class Domain(Protocol):
    """Families of items with a generator and a verifier. Found by the entry-point group ``everloop.domains``."""

    @property
    def name(self) -> str:
        """Name used in a start request."""

    @property
    def judge(self) -> tuple[str, str]:
        """Judge id and version, recorded in the protocol."""

    @property
    def verifier(self) -> Verifier:
        """Strength of the verifier."""

    def families(self) -> tuple[str, ...]:
        """Names of the families, in display order."""

    def size(self, family: str) -> int:
        """Number of indices of the family; `item` is defined on ``range(size)``."""

    def supply(self, family: str) -> int:
        """Number of distinct items of the family (indices for which `item` is not None)."""

    def item(self, family: str, index: int) -> Item | None:
        """The item at an index; None where the index holds none. Distinct indices give distinct prompts."""

    def starter_rows(self, family: str) -> int:
        """Gold rows of the family that the base version v0 is trained on."""

    def verify(self, item: Item, answer: str) -> bool:
        """Whether the answer is right. Refusals, ``{}`` and the empty answer are always wrong."""

    def well_formed(self, item: Item, answer: str) -> bool:
        """The hard rule check: whether the answer has the form the domain asks for, right or wrong."""

    def note(self, item: Item, answer: str) -> str:
        """The improvement note of a failure: what went wrong and what would mend it."""
