"""What the operator's model hands in: a form that is wide enough to read a wrong answer, and says what is right."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from everloop.students.prompt import LONGEST, MOST_EXAMPLES, PLACES, Layout, Reader

MOST_CANDIDATES = 3
"""Most candidates of one turn."""
_READABLE = 10**12
"""Numbers beyond this are no plan at all; what a plan may hold is checked later, with a reason the model gets."""

Whole = Annotated[int, Field(ge=-_READABLE, le=_READABLE)]
Number = Annotated[float, Field(ge=-_READABLE, le=_READABLE)]


class _Form(BaseModel):
    # a field too many is read, so that it can be refused by name; the schema tells the model that there are none
    model_config = ConfigDict(
        extra="allow", strict=True, allow_inf_nan=False, json_schema_extra={"additionalProperties": False}
    )


class Reasons(_Form):
    """Why a candidate should exist."""

    what: str = Field(description="What changes, with the plan's own values.")
    why: str = Field(description="The evidence, with figures from the diagnosis and every family of the plan by name.")
    expected_gain: str = Field(description="What should improve and by how much, as a figure.")
    risks: str = Field(description="What could get worse.")


class Change(_Form):
    """One item of a plan."""

    target: str = Field(description="What is changed.")
    what: str = Field(description="The change.")
    why: str = Field(description="The observation behind it, with figures.")
    expected: str = Field(description="What it should gain.")
    risk: str = Field(description="What it could break.")


class Candidate(_Form):
    """What every candidate has."""

    diff: str = Field("", description="The change in a few words; the exact diff is computed from the plan.")
    rationale: Reasons
    interventions: list[Change] = Field(description="The plan item by item.")
    families: list[str] = Field(description="Families it is meant to help, by their names in the diagnosis.")


class TrainingCandidate(Candidate):
    """A candidate that is trained."""

    rows_per_family: Whole = Field(description="Most new rows a family, from 1 to the limit in force.")
    replay_share: Number = Field(description="Share of each batch drawn from rows already known, 0 to 1.")
    steps: Whole = Field(description="Optimiser steps.")
    batch_size: Whole = Field(description="Rows a step.")
    learning_rate: Number = Field(description="Peak learning rate, above 0 to 1.")
    source: str = Field("collected", description="collected: new verified samples of the head; known: no new rows.")


_PLACES: dict[str, JsonValue] = {
    "system": {"type": "string", "maxLength": LONGEST, "description": "System text; empty: none."},
    "template": {"type": "string", "maxLength": LONGEST, "description": "The user's message; {task} exactly once."},
    "answer_template": {"type": "string", "description": "How example answers are written; {answer} exactly once."},
    "examples": {
        "type": "array",
        "maxItems": MOST_EXAMPLES,
        "items": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("family", "task", "answer")},
            "required": ["family", "task", "answer"],
            "additionalProperties": False,
        },
    },
    "layout": {"type": "string", "enum": [str(one) for one in Layout]},
    "reader": {"type": "string", "enum": [str(one) for one in Reader]},
    "marker": {"type": "string", "description": "What the reader after_marker looks for."},
}
assert set(_PLACES) == set(PLACES)


class PromptCandidate(Candidate):
    """A candidate of a dry run."""

    prompt: dict[str, JsonValue] = Field(
        description="The places to change; a place that is not given stays as the head has it.",
        json_schema_extra={"properties": _PLACES, "additionalProperties": False},
    )


class Handed(_Form):
    """What every answer has."""

    note: str = Field("", description="Anything a reader should know; with no candidate, why there is none.")


class TrainingAnswer(Handed):
    """The operator's answer in a run that trains."""

    candidates: list[TrainingCandidate] = Field(description=f"At most {MOST_CANDIDATES}, best first; empty: no idea.")


class PromptAnswer(Handed):
    """The operator's answer in a dry run."""

    candidates: list[PromptCandidate] = Field(description=f"At most {MOST_CANDIDATES}, best first; empty: no idea.")


Answer = TrainingAnswer | PromptAnswer
Subject = Literal["training", "prompt"]


def form(subject: str) -> type[TrainingAnswer] | type[PromptAnswer]:
    """The form for a briefing's subject."""
    return PromptAnswer if subject == "prompt" else TrainingAnswer


def read(subject: str, text: str) -> Answer:
    """An answer that came as text instead of a call: the JSON object in it. ValidationError when there is none."""
    start, end = text.find("{"), text.rfind("}")
    return form(subject).model_validate_json(text[start : end + 1] if 0 <= start < end else text)
