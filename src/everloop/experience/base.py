"""An experience: a reusable causal fragment of one task execution (five fields of the method's first document)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Experience:
    """What was asked, seen, done, answered by the world, and what would mend it."""

    family: str
    """Task family."""
    goal: str
    """The task."""
    observed: str
    """State of the environment that was observed."""
    action: str
    """What the student did."""
    feedback: str
    """The outer signal: the verifier's verdict."""
    improvement: str
    """Note of what would mend it."""
    gold: str = ""
    """The right answer, for worked examples; empty when it is not known. Not part of what makes it a duplicate."""

    @property
    def content_hash(self) -> str:
        """SHA-256 hex of goal and action, by which duplicates are found."""
        return hashlib.sha256(f"{self.goal}\0{self.action}".encode()).hexdigest()
