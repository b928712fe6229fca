"""A start request: read from JSON, checked field by field, refused with the name of the field."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import cast

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue
from everloop.guard.limits import Goal, Limits, Stop
from everloop.operators.auditors import PANEL

ROUNDS = (1, 1000)
"""Least and most rounds of a run."""
BRIEF = 4000
"""Most characters of a brief."""

_RUN = re.compile(r"[a-z0-9-]{1,64}")
_KEYS = ("run", "brief", "limits", "domain", "rounds", "dry_run", "student_model", "goal", "stop", "options")
_OPTIONS = ("seed", "operator", "trainer", "gate", "launcher", "auditors", "operator_model", "auditor_model")
_TRAINERS = {"synthetic": "synthetic"}
"""Trainers of domains whose student is not the built-in one."""
NO_TRAINER = "none"
"""Trainer of a dry run."""
DRY_DEV_N = 60
"""`Limits.dev_n` of a dry run that names none: what the gate's setting ``agent`` is made for."""
DRY_OPERATOR = "prompt-search"
"""Operator of a dry run that names none."""
AGENT, CHECKERS = "agent", ("figures", "reviewer")
"""The operator that is a language model, and the auditors that its candidates meet besides the panel."""


@dataclass(frozen=True, slots=True)
class Options:
    """Plug-ins and seed of a run; every field has a default."""

    seed: int = 0
    """Seed of everything random in the run; 0 .. 2**31 - 1. A request that names none gets one of its run id."""
    operator: str = "curriculum"
    """Entry point of the group ``everloop.operators``."""
    trainer: str = "nano"
    """Entry point of the group ``everloop.trainers``."""
    gate: str = "two_line"
    """Decision policy."""
    launcher: str = "local"
    """Entry point of the group ``everloop.launchers``."""
    auditors: tuple[str, ...] = PANEL
    """Entry points of the group ``everloop.auditors``; the panel that reviews every candidate."""
    operator_model: str | None = None
    """Configured model of an operator that is a language model; None: the first configured for that use."""
    auditor_model: str | None = None
    """Configured model of an auditor that is a language model; None: the first configured for that use, else the
    operator's."""

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {name: getattr(self, name) for name in _OPTIONS} | {"auditors": list(self.auditors)}


@dataclass(frozen=True, slots=True)
class StartRequest:
    """What a caller asks for."""

    run: str
    """New run id: 1..64 of a-z, 0-9 and dash."""
    brief: str
    """The goal in words; 1..4000 characters."""
    limits: Limits
    """Limits in force, defaults filled in."""
    domain: str = "arith"
    """Entry point of the group ``everloop.domains``."""
    rounds: int = 3
    """Target; 1..1000."""
    goal: Goal | None = None
    """Local goal; reaching it, certified, finishes the run."""
    stop: Stop = field(default_factory=lambda: Stop.from_json({}))
    """When to stop early."""
    options: Options = field(default_factory=Options)
    """Plug-ins and seed."""
    dry_run: bool = False
    """Train nothing: the student is a model behind the gateway, and a candidate changes its prompt."""
    student_model: str | None = None
    """Configured model that a dry run measures; None: the first configured for that use."""

    @classmethod
    def from_json(cls, document: JsonValue) -> StartRequest:
        """Read a request. InvalidRequest names the first field that cannot be accepted, why, and what would be."""
        if not isinstance(document, dict):
            raise InvalidRequest("a start is a JSON object", then="Send at least run, brief and limits.model_usd_cap")
        _refuse_unknown(document, _KEYS, "")
        dry_run, student_model = _dry(document)
        domain = _text(document, "domain", "arith")
        return cls(
            run=_run(document.get("run")),
            brief=_brief(document.get("brief")),
            limits=Limits.from_json(_limits(document, dry_run=dry_run)),
            domain=domain,
            rounds=whole(document.get("rounds", 3), "rounds", *ROUNDS),
            goal=Goal.from_json(cast(Json, document["goal"])) if document.get("goal") is not None else None,
            stop=Stop.from_json(cast(Json, _given(document, "stop"))),
            options=_options(_given(document, "options"), domain, str(document.get("run")), dry_run=dry_run),
            dry_run=dry_run,
            student_model=student_model,
        )


def whole(value: JsonValue, name: str, least: int, most: int) -> int:
    """`value` if it is a whole number within bounds (JSON does not tell 3 from 3.0), else InvalidRequest naming it."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidRequest(f"{name} must be a whole number from {least} to {most}", why=f"got {value!r:.80}")
    return value


def text_of(value: JsonValue, error: type[InvalidRequest], name: str) -> str:
    """`value` if it is text of 1..4000 characters that is not blank, else `error`."""
    if not isinstance(value, str) or not value.strip():
        raise error(f"{name} is required", why="it is empty", then=f"Send 1 to {BRIEF} characters")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise error(f"{name} is no text", why="it holds a zero byte or half a character")
    if len(value) > BRIEF:
        raise error(f"{name} is too long", why=f"{len(value)} characters", then=f"Send at most {BRIEF}")
    return value


def _run(value: JsonValue) -> str:
    if not isinstance(value, str) or not _RUN.fullmatch(value):
        why = f"got {value!r:.80}"
        raise InvalidRequest(
            "run must be 1 to 64 lowercase letters, digits and dashes", why=why, then="Try arith-carry-1"
        )
    return value


def _brief(value: JsonValue) -> str:
    return text_of(value, InvalidRequest, "brief")


def _text(document: Json, name: str, default: str) -> str:
    value = document.get(name, default)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{name} must be text", why=f"got {value!r:.80}")
    return value


def _names(value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidRequest("options.auditors must be a list of names", why=f"got {value!r:.80}")
    if len(set(value)) < len(value):
        raise InvalidRequest("options.auditors names one twice", why=f"got {value!r:.120}")
    missing = [name for name in ("contamination", "regression") if name not in value]
    if missing:
        raise InvalidRequest(f"options.auditors lacks {missing[0]}", why="no run goes without it")
    return tuple(str(name) for name in value)


def _given(document: Json, name: str) -> JsonValue:
    return {} if document.get(name) is None else document[name]


def _seed_of(run: str) -> int:
    """The seed of a run that names none: its own, so that runs do not share their blind items."""
    return int.from_bytes(hashlib.sha256(run.encode()).digest()[:4], "big") >> 1


def _options(document: JsonValue, domain: str, run: str, *, dry_run: bool) -> Options:
    if not isinstance(document, dict):
        raise InvalidRequest("options must be an object", why=f"got {document!r:.80}")
    _refuse_unknown(document, _OPTIONS, "options.")
    if dry_run and "trainer" in document:
        raise InvalidRequest("options.trainer goes with live runs", why="a dry run trains nothing", then="Leave it out")
    standard = Options()
    operator = _text(document, "operator", DRY_OPERATOR if dry_run else standard.operator)
    panel = (*PANEL, *CHECKERS) if operator == AGENT else PANEL
    return Options(
        seed=whole(document.get("seed", _seed_of(run)), "options.seed", 0, 2**31 - 1),
        operator=operator,
        trainer=NO_TRAINER if dry_run else _text(document, "trainer", _TRAINERS.get(domain, standard.trainer)),
        gate=_text(document, "gate", standard.gate),
        launcher=_text(document, "launcher", standard.launcher),
        auditors=_names(document.get("auditors", list(panel))),
        operator_model=_model(document.get("operator_model"), "options.operator_model"),
        auditor_model=_model(document.get("auditor_model"), "options.auditor_model"),
    )


def _model(value: JsonValue, name: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise InvalidRequest(
            f"{name} must name a configured model", why=f"got {value!r:.80}", then="See `el model list`"
        )
    return value


def _refuse_unknown(document: Json, known: tuple[str, ...], prefix: str) -> None:
    unknown = sorted(set(document) - set(known))
    if unknown:
        raise InvalidRequest(f"{prefix}{unknown[0]:.80} is not known", then=f"Known: {', '.join(known)}")


def _limits(document: Json, *, dry_run: bool) -> Json:
    """The limits asked for; in a dry run, where measuring is what costs, with a smaller dev set as default."""
    given = cast(Json, document.get("limits"))
    return {"dev_n": DRY_DEV_N} | given if dry_run and isinstance(given, dict) else given


def _dry(document: Json) -> tuple[bool, str | None]:
    """``dry_run`` and ``student_model``, which goes with it only."""
    dry = document.get("dry_run", False)
    if not isinstance(dry, bool):
        raise InvalidRequest("dry_run must be true or false", why=f"got {dry!r:.80}")
    student = _model(document.get("student_model"), "student_model")
    if student is not None and not dry:
        raise InvalidRequest("student_model goes with dry_run only", then="Leave it out")
    return dry, student
