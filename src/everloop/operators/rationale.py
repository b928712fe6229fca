"""Auditor: the reasons must be there, be concrete, and be about this plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict

from everloop.operators.base import Case, Proposal, Review, Stage

_PARTS = ("what", "why", "expected_gain", "risks")
_FIGURE = re.compile(r"(?<![\w.])[-+]?\.?\d")
_STEPS = re.compile(r"(?<![\w.])(\d+) steps\b")
_WORD = re.compile(r"[^\W_]{2,}")
_LEAST_WORDS = 4
_FILLER = re.compile(
    r"\b(improv\w+ (the )?(performance|quality|results?|model|things)|better (results?|performance|quality)|"
    r"make (it|things|the model) better|should help|general improvements?|various|and so on|etc|as needed|"
    r"best practices?|tbd|to be determined|n/?a|none|no (known )?risks?|nothing|unknown)\b",
    re.IGNORECASE,
)


class RationaleAuditor:
    """Checks presence, concreteness and agreement of Diff, Rationale and interventions with the plan."""

    kind = "rationale"
    """Kind of its reviews."""
    stage = Stage.SCREEN
    """Needs nothing built."""
    asks = False
    """It is a rule."""

    def review(self, case: Case) -> Review:
        """Reject with every defect that was found."""
        defects = list(_defects(case.proposal))
        if defects:
            return Review(self.kind, False, "; ".join(defects))
        count = len(case.proposal.interventions)
        return Review(self.kind, True, f"4 parts with figures and {count} interventions, all about this plan")


def _defects(proposal: Proposal) -> Iterator[str]:
    parts = {part: str(getattr(proposal.rationale, part)) for part in _PARTS}
    for part, text in parts.items():
        yield from _vagueness(part, text, proposal)
    for part in ("why", "expected_gain"):
        if parts[part].strip() and not _FIGURE.search(parts[part]):
            yield f"{part} has no figure"
    unnamed = [name for name in proposal.plan.families if not _names(parts["what"] + " " + parts["why"], name)]
    if unnamed:
        yield f"families of the plan are not named: {', '.join(unnamed)}"
    told = {int(number) for number in _STEPS.findall(parts["what"])}
    steps = proposal.plan.describe().get("steps")
    if steps is not None and told - {steps}:
        yield f"what speaks of {min(told)} steps, the plan of {steps}"
    if not proposal.diff.strip():
        yield "the diff is empty"
    yield from _interventions(proposal)


def _vagueness(part: str, text: str, proposal: Proposal) -> Iterator[str]:
    if not text.strip():
        yield f"{part} is missing"
        return
    rest = _FILLER.sub(" ", text)
    if len({word.lower() for word in _WORD.findall(rest)}) < _LEAST_WORDS:
        yield f"{part} is too vague"
    elif rest != text and not _FIGURE.search(rest) and not any(_names(rest, name) for name in proposal.plan.families):
        yield f"{part} is filler: it has neither a figure nor a family"


def _names(text: str, family: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(family)}(?![\w-])", text) is not None


def _interventions(proposal: Proposal) -> Iterator[str]:
    if not proposal.interventions:
        yield "there are no interventions"
    for place, one in enumerate(proposal.interventions, 1):
        empty = [name for name, text in asdict(one).items() if not str(text).strip()]
        if empty:
            yield f"intervention {place} lacks {', '.join(empty)}"
