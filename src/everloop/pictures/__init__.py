"""Pictures of a run as SVG made of text alone, each with the table behind it and a description in words."""

from __future__ import annotations

from everloop.events import Json
from everloop.language import Language
from everloop.pictures.evidence import evidence
from everloop.pictures.families import families
from everloop.pictures.picture import Cell, Column, Picture
from everloop.pictures.scores import scores
from everloop.pictures.spend import spend
from everloop.pictures.standalone import standalone
from everloop.pictures.style import PALETTE, RULES, WIDER
from everloop.pictures.timeline import timeline

__all__ = [
    "NAMES",
    "PALETTE",
    "RULES",
    "WIDER",
    "Cell",
    "Column",
    "Picture",
    "evidence",
    "families",
    "of",
    "scores",
    "spend",
    "standalone",
    "timeline",
]

NAMES = ("scores", "evidence", "families", "spend", "timeline")
"""Names of all pictures, in the order in which they are shown."""


def of(document: Json, history: Json | None, language: Language) -> list[Picture]:
    """All pictures of a run, in the order of `NAMES`; without history from what the run document has."""
    return [
        scores(document, language),
        evidence(document, history, language),
        families(document, language),
        spend(document, history, language),
        timeline(document, history, language),
    ]
