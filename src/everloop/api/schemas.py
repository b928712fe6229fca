"""JSON Schemas (2020-12) of the request bodies: one source for REST's OpenAPI document and the MCP tools.

They say what the service accepts, field by field. What no single field tells (``student_model`` goes with ``dry_run``
only, ``rounds`` with ``extend`` only, a supply that cannot carry the limits) stands in the descriptions and is refused
by the service.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields
from importlib.metadata import entry_points
from typing import Any, get_type_hints

from everloop.events import Json, JsonValue
from everloop.evidence.gates.registry import GATES
from everloop.guard.limits import Goal, Limits, Stop
from everloop.service.request import BRIEF, ROUNDS, Options
from everloop.service.run_control import ACTIONS

MOST = 2**53
"""Largest number that every reader of JSON tells from its neighbours; bounds counts and seconds."""
MOST_ROUND = 2**31 - 1
"""Largest round number that can be asked for."""
_USD: Json = {"minimum": 1e-6, "maximum": 1e12}
_COUNT: Json = {"minimum": 1, "maximum": MOST}
NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
"""At least one character that is no white space, and no zero byte."""


def _sentences(cls: type[Any]) -> Mapping[str, str]:
    """Field -> the sentence under it, from the source: the class's own words are the documentation."""
    (body,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = ast.literal_eval(below.value)
            found[field.target.id] = " ".join(
                text.replace("``", "").replace("None", "null").replace("2**31 - 1", "2147483647").split()
            )
    return found


def _object(properties: Json, required: list[JsonValue], description: str = "") -> Json:
    told: Json = {"description": description} if description else {}
    return {"type": "object", **told, "properties": properties, "required": required, "additionalProperties": False}


def _text(description: str) -> Json:
    bounds: Json = {"minLength": 1, "maxLength": BRIEF, "pattern": NOT_BLANK}
    return {"type": "string", "description": description, **bounds}


def _plugins(kind: str) -> list[JsonValue]:
    return [*sorted(point.name for point in entry_points(group=f"everloop.{kind}s"))]


def _limits() -> Json:
    told, hints = _sentences(Limits), get_type_hints(Limits)
    properties: Json = {}
    for field in fields(Limits):
        money, optional = float in _kinds(hints[field.name]), type(None) in _kinds(hints[field.name])
        kind = "number" if money else "integer"
        default: Json = {} if field.default in {MISSING, None} else {"default": field.default}
        shown: JsonValue = [kind, "null"] if optional else kind
        bounds = _USD if money else _COUNT
        properties[field.name] = {"type": shown, "description": told[field.name], **bounds, **default}
    return _object(properties, ["model_usd_cap"], "Bounds of the run, all in force. Unknown keys are refused.")


def _kinds(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__args__", (hint,))


def _goal() -> Json:
    told = _sentences(Goal)
    properties: Json = {
        "split": {"type": "string", "description": told["split"], "minLength": 1, "pattern": r"\S"},
        "target": {"type": "number", "description": told["target"], "exclusiveMinimum": 0, "maximum": 1},
    }
    return _object(properties, ["split", "target"], "Reaching it, certified, finishes the run.") | _NULLABLE


def _stop() -> Json:
    told = _sentences(Stop)
    wall: Json = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": MOST}
    properties: Json = {
        "wall_seconds": wall | {"description": told["wall_seconds"]},
        "patience": {"type": ["integer", "null"], "description": told["patience"], **_COUNT},
    }
    return _object(properties, [], "When to end before the rounds are over.") | _NULLABLE


_NULLABLE: Json = {"type": ["object", "null"]}


def _options() -> Json:
    told = _sentences(Options)
    names: dict[str, list[JsonValue]] = {
        "operator": _plugins("operator"),
        "trainer": _plugins("trainer"),
        "gate": [*GATES],
        "launcher": _plugins("launcher"),
    }
    properties: Json = {"seed": {"type": "integer", "description": told["seed"], "minimum": 0, "maximum": 2**31 - 1}}
    for name, known in names.items():
        properties[name] = {"type": "string", "description": told[name], "enum": known}
    properties["auditors"] = {
        "type": "array",
        "description": f"{told['auditors']} Contamination and regression are always among them.",
        "items": {"type": "string", "enum": _plugins("auditor")},
        "uniqueItems": True,
        "minItems": 2,
    }
    for name in ("operator_model", "auditor_model"):
        properties[name] = {"type": ["string", "null"], "description": told[name], "minLength": 1}
    return _object(properties, [], "Plug-ins and seed; everything has a default.") | _NULLABLE


def _start() -> Json:
    run = "New run id: 1 to 64 lowercase letters, digits and dashes, such as arith-carry-1. A taken one is a conflict."
    dry = "True: train nothing; the student is a model behind the gateway. It still spends the model budget."
    student = "Configured model that a dry run measures; with dry_run true only."
    least, most = ROUNDS
    properties: Json = {
        "run": {"type": "string", "description": run, "minLength": 1, "maxLength": 64, "pattern": RUN},
        "brief": _text("The goal in words; it is part of every round."),
        "limits": _limits(),
        "domain": {"type": "string", "description": "Task class.", "enum": _plugins("domain"), "default": "arith"},
        "rounds": {
            "type": "integer",
            "description": "Target rounds.",
            "minimum": least,
            "maximum": most,
            "default": 3,
        },
        "dry_run": {"type": "boolean", "description": dry, "default": False},
        "student_model": {"type": ["string", "null"], "description": student, "minLength": 1},
        "goal": _goal(),
        "stop": _stop(),
        "options": _options(),
    }
    return _object(properties, ["run", "brief", "limits"])


def _control() -> Json:
    rounds = "New target, 1 to 1000; required by extend, refused with any other action."
    acts = "extend sets the target rounds, stop ends after the current round, resume goes on."
    least, most = ROUNDS
    properties: Json = {
        "action": {"type": "string", "description": acts, "enum": [*ACTIONS]},
        "rounds": {"type": ["integer", "null"], "description": rounds, "minimum": least, "maximum": most},
    }
    return _object(properties, ["action"])


RUN = "^[a-z0-9-]{1,64}$"
"""What a run id looks like."""
START: Json = _start()
"""Body of a start."""
STEER: Json = _object({"text": _text("Message to the operator, delivered at its next turn.")}, ["text"])
"""Body of a steer."""
DIRECTIVE: Json = _object({"text": _text("Standing instruction, shown to the operator in every turn.")}, ["text"])
"""Body of a directive."""
CONTROL: Json = _control()
"""Body of a control, as plain as clients of tools need it."""
CONTROL_EXACTLY: Json = CONTROL | {
    "oneOf": [
        {"properties": {"action": {"const": "extend"}, "rounds": {"type": "integer"}}, "required": ["rounds"]},
        {"properties": {"action": {"enum": [one for one in ACTIONS if one != "extend"]}, "rounds": {"type": "null"}}},
    ]
}
"""The same with what binds its fields together."""
