"""Gates by name, with the defaults of the two settings, and as JSON for protocols."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import cast

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue
from everloop.evidence.gates.base import Gate
from everloop.evidence.gates.certification import SequentialTest
from everloop.evidence.gates.elond import ELond
from everloop.evidence.gates.eprocess import EProcess
from everloop.evidence.gates.greedy import Greedy
from everloop.evidence.gates.mcnemar import McNemar
from everloop.evidence.gates.relative import Relative
from everloop.evidence.gates.screen_blind import ScreenBlind
from everloop.evidence.gates.two_line import TwoLine
from everloop.values import built

_Known = TwoLine | Greedy | Relative | McNemar | EProcess | ELond | ScreenBlind
_GATES: dict[str, type[_Known]] = {
    "two_line": TwoLine,
    "greedy": Greedy,
    "relative": Relative,
    "mcnemar": McNemar,
    "eprocess": EProcess,
    "elond": ELond,
    "screen_blind": ScreenBlind,
}
GATES = tuple(_GATES)
"""Names of the policies."""
MODEL_BATCH = 200
"""Pairs between two looks where a measurement call has a fixed price; the e-process is valid at any batch."""


def make_gate(name: str, *, setting: str = "agent", dev_n: int | None = None, eval_limit: int = 4000) -> Gate:
    """A policy with the defaults of a setting: ``agent`` (evaluations cost) or ``model`` (building costs).

    `eval_limit` bounds a certification to half as many pairs. InvalidRequest names the known policies.
    """
    if name not in _GATES:
        raise InvalidRequest(f"gate {name!r} is not known", then=f"Known: {', '.join(GATES)}")
    gate = _GATES[name]()
    if setting == "model" and isinstance(gate, TwoLine):
        gate = _for_models(gate, dev_n or 400)
    elif dev_n is not None and isinstance(gate, TwoLine | Greedy | Relative | ScreenBlind):
        gate = replace(gate, dev_n=dev_n)
    if isinstance(gate, McNemar):
        return replace(gate, pairs=max(1, min(gate.pairs, eval_limit // 2)))
    if isinstance(gate, TwoLine | EProcess | ELond | ScreenBlind):
        batch = MODEL_BATCH if setting == "model" else gate.test.batch
        most = max(1, min(gate.test.max_pairs, eval_limit // 2))
        return replace(gate, test=replace(gate.test, batch=batch, max_pairs=most))
    return gate


def _for_models(gate: TwoLine, dev_n: int) -> TwoLine:
    """Screen on all of the dev set, certify every move.

    The standard error of a screen's estimate falls with the root of its items, and so does the step it must reach:
    .05 on 60 items is .019 on 400.
    """
    step = round(gate.step * min(1.0, (gate.dev_n / dev_n) ** 0.5), 4)
    return replace(gate, look=0, moves=1, dev_n=dev_n, step=step)


def gate_to_json(gate: Gate) -> Json:
    """Name and every parameter."""
    known = cast(_Known, gate)
    document: dict[str, JsonValue] = {}
    for field in fields(known):
        value = getattr(known, field.name)
        if isinstance(value, SequentialTest):
            value = {inner.name: getattr(value, inner.name) for inner in fields(value)}
        document[field.name] = value
    return document


def gate_from_json(document: Json) -> Gate:
    """The inverse of `gate_to_json`. InvalidRequest for an unknown policy."""
    name = str(document.get("name"))
    if name not in _GATES:
        raise InvalidRequest(f"gate {name!r} is not known", then=f"Known: {', '.join(GATES)}")
    test = document.get("test")
    nested = {"test": built(SequentialTest, cast(Json, test))} if test is not None else {}
    return cast(Gate, built(_GATES[name], document, **nested))
