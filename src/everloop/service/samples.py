"""The weekly sample of rejected candidates that people judge: does the evaluator throw good changes away?

A sample is a function of the project and the ISO week: whoever asks, and however often, sees the same candidates. What
people say of them counts in the next calibration of the soft score, in the place of the recorded decision.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Self

from sqlalchemy import Connection

from everloop.errors import InvalidRequest, RunNotFound, StateConflict
from everloop.events import Json, JsonValue
from everloop.service import visibility
from everloop.service.caller import LOCAL, Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission
from everloop.service.request import text_of
from everloop.store import candidates, labels, samples
from everloop.store.labels import LabelRow
from everloop.values import iso, utcnow

MOST = 20
"""Candidates of a sample."""
_WEEK = re.compile(r"(\d{4})-W(\d{2})")


@dataclass(frozen=True, slots=True)
class Week:
    """An ISO 8601 week, in UTC."""

    monday: date
    """Its first day."""

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The week of a moment."""
        day = moment.astimezone(UTC).date()
        return cls(day - timedelta(days=day.weekday()))

    @classmethod
    def from_text(cls, text: JsonValue) -> Self:
        """``2026-W48``. InvalidRequest for anything else."""
        found = _WEEK.fullmatch(text) if isinstance(text, str) else None
        try:
            if found is not None:
                return cls(date.fromisocalendar(int(found[1]), int(found[2]), 1))
        except ValueError:  # no such week in that year
            pass
        raise InvalidRequest("week must be an ISO week", why=f"got {text!r:.80}", then="Write it as 2026-W48")

    @property
    def begin(self) -> datetime:
        """Its first moment."""
        return datetime(self.monday.year, self.monday.month, self.monday.day, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """The first moment of the next one."""
        return self.begin + timedelta(days=7)

    def __str__(self) -> str:
        year, number, _ = self.monday.isocalendar()
        return f"{year:04}-W{number:02}"


def listing(
    installation: Installation, caller: Caller = LOCAL, week: JsonValue = None, project_id: str | None = None
) -> Json:
    """The sample of a week, at most 20 candidates with what was said of them; default: the last week that is over.

    A candidate belongs to the week in which it was proposed. `project_id` is for this machine's account; everybody else
    gets the sample of the project it acts in.
    """
    caller.require(Permission.READ)
    now = utcnow()
    asked = Week.of(now - timedelta(days=7)) if week is None else Week.from_text(week)
    if asked.begin > now:
        raise InvalidRequest(f"week {asked} has not begun", then=f"The newest is {Week.of(now)}")
    project = (project_id if caller.sees_all else None) or caller.project_id
    with installation.database.read() as tx:
        found = samples.rejected(tx, project, str(iso(asked.begin)), str(iso(asked.end)))
        drawn = sorted(found, key=lambda one: _rank(asked, project, *one))[:MOST]
        said = samples.said(tx, {run for run, _ in drawn})
        items = [_item(tx, run, name, said.get((run, name))) for run, name in drawn]
    return {
        "week": str(asked),
        "complete": asked.end <= now,
        "project_id": project,
        "rejected": len(found),
        "judged": sum(1 for one in items if one["label"] is not None),
        "items": list(items),
        "observed_at": iso(now),
    }


def judge(
    installation: Installation,
    run: str,
    candidate: str,
    good: JsonValue,
    reason: JsonValue = None,
    caller: Caller = LOCAL,
) -> Json:
    """Say of a rejected candidate whether it was worth keeping; of two verdicts on one the later counts.

    RunNotFound without it, StateConflict when it was not rejected.
    """
    caller.require(Permission.APPROVE)
    at = str(iso(utcnow()))

    def write() -> Json:
        with installation.database.write() as tx:
            row = visibility.require(tx, run, caller)
            found = _candidate(tx, row.run, candidate)
            checked, why = _verdict(good), None if reason is None else text_of(reason, InvalidRequest, "reason").strip()
            if found.decision not in samples.REJECTED:
                raise StateConflict(
                    f"{found.candidate} of run {row.run} cannot be judged here",
                    why=f"it is {found.decision or 'undecided'}, and this is about rejected candidates",
                    then="`el evaluator label` takes any candidate",
                )
            named: Json = {"run": row.run, "candidate": found.candidate}
            said: Json = {"reason": why} if why else {}
            number = labels.find(tx, "human", named | said, good=checked, author=caller.subject, at=at)
            if number is None:  # else an earlier try wrote it, and its answer was lost
                number = labels.put(tx, "human", named | said, good=checked, author=caller.subject, at=at)
        return {"id": number, **named, "good": checked, "reason": why, "author": caller.subject}

    return installation.database.retrying(write)


def _rank(week: Week, project: str, run: str, candidate: str) -> str:
    return hashlib.sha256(f"{week}/{project}/{run}/{candidate}".encode()).hexdigest()


def _candidate(tx: Connection, run: str, name: str) -> candidates.CandidateRow:
    if "\0" in name or len(name) > 64:
        raise RunNotFound(f"run {run} has no candidate {name!r:.80}")
    return candidates.require(tx, run, name)


def _verdict(good: JsonValue) -> bool:
    if not isinstance(good, bool):
        raise InvalidRequest("good must be true or false", why=f"got {good!r:.80}")
    return good


def _item(tx: Connection, run: str, name: str, label: LabelRow | None) -> Json:
    found = candidates.require(tx, run, name)
    return {
        "run": run,
        "candidate": name,
        "round": found.round,
        "decision": found.decision,
        "reasons": list(found.reasons),
        "proposal": found.proposal,
        "screen": found.screen,
        "certification": found.certification,
        "at": found.at,
        "label": None if label is None else _label(label),
    }


def _label(label: LabelRow) -> Json:
    return {"good": label.good, "reason": label.change.get("reason"), "author": label.author, "at": label.at}
