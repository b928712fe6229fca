"""What a start may bound: ``limits``, ``goal`` and ``stop``. Every key changes behaviour; unknown keys are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

from everloop.errors import InvalidRequest
from everloop.events import JsonValue

_LEAST_USD, _MOST_USD = 1e-6, 1e12
"""A micro-dollar is the least that is kept; a trillion still fits a 64-bit count of them."""
_MOST = 2**53
"""Counts above this are not whole numbers in every reader of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a run, all in force."""

    model_usd_cap: float
    """Hard stop on US dollars for the strong models; required."""
    usd_cap: float | None = None
    """Hard stop on US dollars for models and compute together; None: no cap."""
    model_request_cap: int | None = None
    """Requests to operator and auditor models; None: no cap."""
    student_request_cap: int | None = None
    """Requests to a student behind the gateway; None: no cap."""
    request_cap: int | None = None
    """All gateway requests together; None: no cap."""
    diag_per_family: int = 64
    """Fresh items per family in diagnose."""
    dev_n: int = 400
    """Items of a dev set."""
    dev_use_cap: int = 20
    """Uses of a dev set before it is retired and redrawn."""
    collect_tasks: int = 250
    """Tasks sampled a round, in each family the plan trains on."""
    collect_k: int = 4
    """Samples a task."""
    admission_n: int = 100
    """Items of the cheap pre-test a candidate must pass."""
    max_rows_per_family: int = 1000
    """Training rows a family may give."""
    eval_limit: int = 4000
    """Item evaluations one comparison may use."""
    blind_n: int = 2000
    """Items of the final gate."""
    calib_n: int = 100
    """Gold items a judge must agree with."""

    @classmethod
    def from_json(cls, document: JsonValue) -> Self:
        """Validate ``limits`` of a start. InvalidRequest names the field that cannot be accepted."""
        given = _object("limits", document, [field.name for field in fields(cls)])
        if given.get("model_usd_cap") is None:
            raise InvalidRequest("limits.model_usd_cap is missing", why="it is required: a hard stop on model dollars")
        values: dict[str, float | int | None] = {}
        for name, value in given.items():
            path = f"limits.{name}"
            if value is None and name in _CAPS:
                values[name] = None
            else:
                values[name] = _dollars(path, value) if name in _DOLLARS else _count(path, value)
        return cls(**values)  # type: ignore[arg-type] # names and kinds were checked one by one above

    def to_json(self) -> dict[str, JsonValue]:
        """Every limit in force; null where there is no cap."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_DOLLARS = {"model_usd_cap", "usd_cap"}
_CAPS = {"usd_cap", "model_request_cap", "student_request_cap", "request_cap"}


@dataclass(frozen=True, slots=True)
class Goal:
    """A local goal: a certified version that reaches it finishes the run."""

    split: str
    """Family (or ``all``) whose score counts."""
    target: float
    """Score to reach, above 0 and at most 1."""

    @classmethod
    def from_json(cls, document: JsonValue) -> Self:
        """Validate ``goal`` of a start. InvalidRequest names the field that cannot be accepted."""
        given = _object("goal", document, ["split", "target"])
        for name in ("split", "target"):
            if name not in given:
                raise InvalidRequest(f"goal.{name} is missing", why="a goal has split and target")
        split = given["split"]
        if not isinstance(split, str) or not split.strip():
            raise InvalidRequest("goal.split must be a name", why=f"got {split!r}")
        target = _amount("goal.target", given["target"])
        if target > 1:
            raise InvalidRequest("goal.target must be at most 1", why=f"got {target!r}")
        return cls(split, target)

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return {"split": self.split, "target": self.target}


@dataclass(frozen=True, slots=True)
class Stop:
    """When a run ends before its rounds are over."""

    wall_seconds: float | None = None
    """Wall seconds from the start; None: no bound."""
    patience: int | None = None
    """Rounds without progress; None: no bound."""

    @classmethod
    def from_json(cls, document: JsonValue) -> Self:
        """Validate ``stop`` of a start. InvalidRequest names the field that cannot be accepted."""
        given = _object("stop", document, ["wall_seconds", "patience"])
        wall, patience = given.get("wall_seconds"), given.get("patience")
        return cls(
            None if wall is None else _amount("stop.wall_seconds", wall),
            None if patience is None else _count("stop.patience", patience),
        )

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON; null where there is no bound."""
        return {"wall_seconds": self.wall_seconds, "patience": self.patience}


def _object(path: str, document: JsonValue, known: list[str]) -> Mapping[str, JsonValue]:
    if not isinstance(document, dict):
        raise InvalidRequest(f"{path} must be an object", why=f"got {document!r:.80}")
    for name in document:
        if name not in known:
            raise InvalidRequest(f"{path}.{name!s:.80} is not known", why=f"known: {', '.join(known)}")
    return document


def _amount(path: str, value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(f"{path} must be a number", why=f"got {value!r:.80}")
    if value != value or value in {float("inf"), float("-inf")} or value <= 0:
        raise InvalidRequest(f"{path} must be positive and finite", why=f"got {value!r:.80}")
    if value > _MOST:
        raise InvalidRequest(f"{path} is too large", why=f"at most {_MOST}")
    return float(value)


def _dollars(path: str, value: JsonValue) -> float:
    amount = _amount(path, value)
    if not _LEAST_USD <= amount <= _MOST_USD:
        raise InvalidRequest(f"{path} must lie between {_LEAST_USD:g} and {_MOST_USD:g}", why=f"got {amount!r}")
    return amount


def _count(path: str, value: JsonValue) -> int:
    number = _amount(path, value)
    if not number.is_integer():
        raise InvalidRequest(f"{path} must be a whole number", why=f"got {value!r}")
    if number > _MOST:
        raise InvalidRequest(f"{path} is too large", why=f"at most {_MOST}")
    return int(number)
