"""The history document: what a run's pictures are drawn from, oldest first. Absent is null, never 0.

Money and time of each round and phase, and the looks of the comparison that is under way, or of the last one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import exp, log
from typing import cast

from sqlalchemy import Connection

from everloop.events import Json, JsonValue
from everloop.evidence.gates import gate_from_json
from everloop.evidence.tally import Tally
from everloop.fields import moment
from everloop.ledger import reservations
from everloop.loop.lines import Lines
from everloop.service import unreadable, visibility
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.store import looks, phases, rounds
from everloop.store.looks import CERTIFICATION, Look
from everloop.store.phases import PhaseRow
from everloop.store.rounds import RoundRow
from everloop.store.runs import RunRow
from everloop.values import iso, utcnow

ROUNDS = 1000
"""Newest rounds whose money is told."""
TIMED = 20
"""Newest rounds whose phases are told."""
_MONEY = ("model_usd", "gpu_usd", "total_usd")
_CANDIDATE = re.compile(r"r\d+c\d+")
_AT_WORK = ("starting", "running")


def of(installation: Installation, run: str, caller: Caller = LOCAL) -> Json:
    """The history of a run; RunNotFound for an unknown run, RunUnreadable where its record makes no sense."""
    caller.require(Permission.READ)
    with installation.database.read() as tx:
        row = visibility.require(tx, run, caller)
        with unreadable.refused(run):
            return document(tx, row)


def document(tx: Connection, row: RunRow) -> Json:
    """The history of a run that is read already."""
    shown = rounds.newest(tx, row.run, limit=ROUNDS)
    return {
        "run": row.run,
        "rounds": [_round(one) for one in shown],
        "rounds_total": rounds.total(tx, row.run),
        "spend": cast(JsonValue, _spend(tx, row, shown)),
        "phases": cast(JsonValue, _phases(tx, row)),
        "comparison": _comparison(tx, row),
    }


def _round(one: RoundRow) -> Json:
    return {
        "round": one.round,
        "decision": one.decision,
        "version": one.version,
        "started_at": one.started_at,
        "ended_at": one.ended_at,
        **_money(one.spend),
    }


def _money(spend: Json | None) -> Json:
    return {name: (spend or {}).get(name) for name in _MONEY}


def _spend(tx: Connection, row: RunRow, shown: Sequence[RoundRow]) -> list[Json]:
    """What the run had spent after each round, and by now: what is spent between rounds counts as well."""
    before = phases.opened(tx, row.run, shown[0].round) if shown else {}
    told: list[Json] = []
    total: Json = {}
    for one in shown:
        if one.spend is None:
            continue
        total = _sum(before.get(one.round, total), one.spend)
        told.append({"round": one.round, "at": one.ended_at, **total})
    now = reservations.spend(tx, row.run).to_json()
    return [*told, {"round": None, "at": row.ended_at or iso(utcnow()), **_money(now)}]


def _sum(before: Json, more: Json) -> Json:
    """Dollars of both, to the micro-dollar; null where one is not known."""
    added: Json = {}
    for name in _MONEY:
        one, other = before.get(name, 0.0), more.get(name)
        known = isinstance(one, int | float) and isinstance(other, int | float)
        added[name] = round(cast(float, one) + cast(float, other), 6) if known else None
    return added


def _phases(tx: Connection, row: RunRow) -> list[Json]:
    """The phases of the newest rounds in the order in which they ended, and the one at work."""
    done = phases.timed(tx, row.run, max(0, row.round - TIMED + 1))
    told = [_phase(one) for one in done]
    newest = done[-1] if done else None
    if row.state in _AT_WORK and row.phase and newest and row.phase != newest.phase:
        here = newest.candidate if newest.round == row.round else ""
        told.append(_timed(row.round, here, row.phase, newest.at, None))
    return told


def _phase(one: PhaseRow) -> Json:
    return _timed(one.round, one.candidate, one.phase, one.started_at, one.at)


def _timed(number: int, candidate: str, phase: str, started_at: str | None, ended_at: str | None) -> Json:
    return {
        "round": number,
        "candidate": candidate if _CANDIDATE.fullmatch(candidate) else None,
        "phase": phase,
        "started_at": started_at,
        "ended_at": ended_at,
        "seconds": _seconds(started_at, ended_at),
    }


def _seconds(started_at: str | None, ended_at: str | None) -> float | None:
    begun, ended = moment(started_at), moment(ended_at)
    return None if begun is None or ended is None else round(max(0.0, (ended - begun).total_seconds()), 6)


def _comparison(tx: Connection, row: RunRow) -> JsonValue:
    """The comparison under way, else the last one; None before the first, and where the policy takes no looks."""
    newest = looks.newest(tx, row.run)
    begun = _begun(row)
    if begun is not None and (newest is None or newest.candidate != begun["candidate"]):
        return {**begun, **_bounds(row), "stopped": None, "looks": []}
    if newest is None:
        return None
    seen = looks.of_candidate(tx, row.run, newest.candidate, newest.stage)
    return {
        **_head(newest.round, newest.candidate, newest.against, newest.threshold),
        **_bounds(row),
        "stopped": None if seen[-1].ruling == "more" else seen[-1].ruling,
        "looks": [_look(one) for one in seen],
    }


def _begun(row: RunRow) -> Json | None:
    """A comparison whose first pairs are being measured; None when there is none."""
    if row.state not in _AT_WORK or row.phase != "certify" or row.lines is None:
        return None
    lines = Lines.from_json(row.lines)
    if lines.head == lines.certified:
        return None
    gate = gate_from_json(cast(Json, row.protocol["gate"]))
    threshold = gate.certify(lines.gate, Tally(), 0.5).threshold
    return _head(row.round, lines.head.name, lines.version, threshold)


def _head(number: int, candidate: str, against: str, threshold: float | None) -> Json:
    alpha = None if threshold is None else round(exp(-threshold), 12)
    names: Json = {"stage": CERTIFICATION, "round": number, "candidate": candidate, "against": against}
    return names | {"alpha": alpha, "threshold": threshold}


def _bounds(row: RunRow) -> Json:
    """Where a comparison ends that is not shown; null where the policy has no such bound."""
    policy = cast(Json, row.protocol["gate"])
    test = policy.get("test")
    beta = cast(float | None, test.get("beta")) if isinstance(test, dict) else None
    pairs = gate_from_json(policy).max_pairs()
    return {"futility_threshold": -log(beta) if beta else None, "max_pairs": pairs or None}


def _look(one: Look) -> Json:
    names = ("pairs", "wins", "losses", "log_e", "futility", "at")
    return {name: getattr(one, name) for name in names}
