"""Use cases on the soft score: calibrate it, label changes, report what is known of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar, cast

from sqlalchemy import Connection

from everloop.errors import InvalidRequest, RunNotFound
from everloop.evaluator import Calibration, Candidate, Embedder, Verdict, calibrate, verdicts
from everloop.evaluator.calibration import counted
from everloop.evaluator.features import vectors
from everloop.evaluator.preference import missing
from everloop.evaluator.scoring import NEVER
from everloop.events import Json
from everloop.operators.base import Plan
from everloop.operators.plans import plan_of
from everloop.service.installation import Installation
from everloop.store import calibrations, candidates, labels, runs
from everloop.store.labels import LabelRow
from everloop.store.verdicts import histories
from everloop.values import iso, utcnow

MOST = 2000
"""Recorded candidates, and labels, that a calibration reads: the newest."""
LONGEST = 256
"""Characters of an author's name."""
_PARTS = ("what", "why", "expected_gain", "risks")

T = TypeVar("T")


def recalibrate(installation: Installation, *, embedder: Embedder | None = None) -> Json:
    """Fit on what the store holds and record it as the calibration in force; returns ``{"id", "at", **report}``.

    A calibration that abstains is recorded too and silences the one before. Only a missing scikit-learn records
    nothing: that says something of this machine and nothing of the verdicts, and ``id`` is null.
    """
    with installation.database.read() as tx:
        found = _verdicts(tx)
    now = iso(utcnow())
    if not counted(found).needed and (why := missing()):
        return {"id": None, "at": now, **replace(counted(found), abstained=why).to_json()}
    made = calibrate(found, embedder)
    number = _written(installation, lambda tx: calibrations.put(tx, made.to_json()))
    return {"id": number, "at": now, **made.report.to_json()}


def report(installation: Installation) -> Json:
    """The report of the calibration in force; before the first, with ``id`` null, what there is to calibrate on."""
    with installation.database.read() as tx:
        newest = calibrations.newest(tx)
        if newest is not None:
            return {"id": newest.id, "at": newest.at, **Calibration.from_json(newest.document).report.to_json()}
        found = counted(_verdicts(tx))
    return {"id": None, "at": None, **replace(found, abstained=found.abstained or NEVER).to_json()}


def label(installation: Installation, run: str, candidate: str, *, good: bool, author: str = "local") -> Json:
    """Record what a person says of a recorded candidate. RunNotFound without it."""

    def write(tx: Connection) -> int:
        runs.require(tx, run)
        candidates.require(tx, run, candidate)
        return labels.put(tx, "human", {"run": run, "candidate": candidate}, good=good, author=_author(author))

    number = _written(installation, write)
    return {"id": number, "run": run, "candidate": candidate, "good": good, "author": author}


def import_labels(installation: Installation, lines: Iterable[str], author: str = "local") -> Json:
    """Record the labels of JSON lines, all or none; one that is there already is not recorded again.

    A line is ``{"run", "candidate", "good"}`` or ``{"proposal", "good"}``, the latter with ``head_plan`` if there is
    one; both may have an ``author``. InvalidRequest names the first line that cannot be accepted.
    """
    given = [_line(number, line, author) for number, line in enumerate(lines, 1) if line.strip()]

    def write(tx: Connection) -> Json:
        known = {_key(row.change, row.good) for row in labels.newest(tx, MOST)}
        added = 0
        for number, change, good, who in given:
            if "run" in change and _recorded(tx, change) is None:
                raise _refused(number, f"there is no candidate {change['candidate']} in run {change['run']}")
            if (key := _key(change, good)) not in known:
                labels.put(tx, "human" if "run" in change else "file", change, good=good, author=who)
                known.add(key)
                added += 1
        return {"read": len(given), "added": added}

    return _written(installation, write)


def _verdicts(tx: Connection) -> list[Verdict]:
    """What the record says, with what people said in its place; of two labels of a change the later counts."""
    said: dict[str, dict[str, bool]] = {}
    loose: dict[str, Verdict] = {}
    for row in labels.newest(tx, MOST):
        if "run" in row.change:
            said.setdefault(str(row.change["run"]), {})[str(row.change["candidate"])] = row.good
        elif (verdict := _loose(row)) is not None:
            loose[verdict.digest] = verdict
    found = [one for history in histories(tx, MOST) for one in verdicts(history, said.get(history.run))]
    return found + list(loose.values())


def _loose(row: LabelRow) -> Verdict | None:
    try:
        candidate = Candidate(cast(Json, row.change["proposal"]), _head(row.change))
    except (InvalidRequest, KeyError, TypeError, ValueError):  # its plan is of a kind that is not known any more
        return None
    return Verdict(candidate, row.good, "", row.at, human=True)


def _line(number: int, line: str, author: str) -> tuple[int, Json, bool, str]:
    """A line's number, change, verdict and author. InvalidRequest when it is no label."""
    try:
        given = json.loads(line)
    except ValueError as error:
        raise _refused(number, f"no JSON: {error}") from error
    if not isinstance(given, dict) or not isinstance(given.get("good"), bool):
        raise _refused(number, "a label is an object with good: true or false")
    fields = {"run", "candidate"} if "run" in given else {"proposal", "head_plan"}
    unknown = sorted(set(given) - fields - {"good", "author"})
    if unknown:
        raise _refused(number, f"unknown field {unknown[0]:.40}")
    change: Json = {name: given.get(name) for name in sorted(fields)}
    if "run" in given:
        if not all(isinstance(value, str) for value in change.values()):
            raise _refused(number, "run and candidate must be text")
    else:
        _readable(number, change)
    return number, change, given["good"], _author(str(given.get("author", author)))


def _readable(number: int, change: Json) -> None:
    """A whole change: everything the evaluator reads of it is there."""
    proposal = change["proposal"]
    if not isinstance(proposal, dict) or not isinstance(proposal.get("rationale"), dict):
        raise _refused(number, "proposal must be an object with plan, diff, rationale and interventions")
    try:
        vectors([Candidate(proposal, _head(change))])
    except (InvalidRequest, AttributeError, KeyError, TypeError, ValueError) as error:
        raise _refused(number, f"its proposal cannot be read: {error!s:.200}") from error


def _head(change: Json) -> Plan | None:
    head = cast(Json | None, change["head_plan"])
    return plan_of(head) if head else None


def _recorded(tx: Connection, change: Json) -> str | None:
    try:
        return candidates.require(tx, str(change["run"]), str(change["candidate"])).candidate
    except RunNotFound:
        return None


def _author(name: str) -> str:
    if not name.strip() or len(name) > LONGEST:
        raise InvalidRequest("an author's name is empty or too long", why=f"at most {LONGEST} characters")
    return name.strip()


def _key(change: Json, good: bool) -> str:
    return json.dumps([change, good], sort_keys=True)


def _refused(number: int, why: str) -> InvalidRequest:
    return InvalidRequest(f"line {number} of the labels cannot be accepted", why=why)


def _written(installation: Installation, change: Callable[[Connection], T]) -> T:
    def write() -> T:
        with installation.database.write() as tx:
            return change(tx)

    return installation.database.retrying(write)
