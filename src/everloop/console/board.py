"""What the page of a run shows besides what it does right now: its documents, ready for the templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from everloop import pictures
from everloop.console.visits import Visit
from everloop.errors import InvalidRequest, RunUnreadable
from everloop.events import Json, JsonValue
from everloop.fields import ORDER, main_score, part, parts
from everloop.pictures.picture import Column, Picture
from everloop.report.verdict import Verdict, verdict
from everloop.service import history, rounds, runs

ROUNDS = 25
"""Rounds on a page."""
ROWS = 40
"""Newest rows of a picture's table that the page shows; all of them are in its CSV."""
VERSIONS = 30
"""Versions besides v0 in the page's table."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture on the page."""

    picture: Picture
    """The picture."""
    columns: Sequence[Column]
    """Columns of the table behind it."""
    rows: Sequence[Sequence[str]]
    """The newest rows of that table, written out."""
    left: int
    """Rows that only the CSV has."""


@dataclass(frozen=True, slots=True)
class Board:
    """The board of a run."""

    run: Json
    """The run document."""
    verdict: Verdict
    """What it has shown."""
    comparison: Json
    """The comparison under way, or the last one; empty before the first."""
    pictures: dict[str, Drawn]
    """Name -> picture."""
    sets: Sequence[str]
    """Sets that anything was measured on, the strongest evidence first."""
    scored: Sequence[Json]
    """The newest versions, v0 and the control arm, each with ``of`` (set -> score over all families) and ``best``."""
    unlisted: int
    """Versions that are not among them."""
    rounds: Sequence[Json]
    """The rounds on the page, newest first."""
    older: int | None
    """Number of the round that the page before begins with; None without one."""
    newest: bool
    """Whether the newest round is among those on the page."""
    past: bool
    """Whether what happened before now could be read; pictures that rest on it say nothing otherwise."""


def board(visit: Visit, run: str) -> Board:
    """The board of a run; RunNotFound for an unknown run."""
    caller, last = visit.person(), _asked(visit)
    document = runs.document(visit.place, run, rounds=ROUNDS if last is None else 1, caller=caller)
    past = _history(visit, run)
    shown = parts(document, "rounds")
    if last is not None and document.get("state") != "unreadable":
        shown = rounds.upto(visit.place, run, last, ROUNDS, caller)
    first = cast(int | None, shown[0].get("round")) if shown else None
    total = document.get("rounds_total")
    return Board(
        run=document,
        verdict=verdict(document, visit.language),
        comparison=part(past or {}, "comparison"),
        pictures={one.name: _drawn(one) for one in pictures.of(document, past, visit.language)},
        sets=_sets(document),
        scored=_scored(document),
        unlisted=max(0, len(parts(document, "versions")) - VERSIONS - 1),
        rounds=shown[::-1],
        older=first - 1 if first is not None and first > 1 else None,
        newest=not shown or shown[-1].get("round") == total,
        past=past is not None,
    )


def _asked(visit: Visit) -> int | None:
    """The newest round that the address asks for with ``rounds``; None: the newest there is."""
    asked = visit.asked("rounds")
    if not asked:
        return None
    if not asked.isascii() or not asked.isdecimal() or len(asked) > 9 or int(asked) < 1:
        raise InvalidRequest("rounds must be a whole number from 1", why=f"got {asked!r:.40}")
    return int(asked)


def _history(visit: Visit, run: str) -> Json | None:
    try:
        return history.of(visit.place, run, visit.person())
    except RunUnreadable:
        return None


def _drawn(picture: Picture) -> Drawn:
    rows = picture.rows[-ROWS:]
    written = [[column.text(cell) for column, cell in zip(picture.columns, row, strict=True)] for row in rows]
    return Drawn(picture, picture.columns, written, len(picture.rows) - len(rows))


def _sets(document: Json) -> list[str]:
    scored = [*parts(document, "versions"), part(document, "control")]
    found = {str(score["set"]) for one in scored for score in parts(one, "scores") if score.get("set")}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))


def _scored(document: Json) -> list[Json]:
    """Versions, the newest first, and the control arm."""
    best, listed = document.get("best_version"), parts(document, "versions")
    chosen = listed if len(listed) <= VERSIONS + 1 else [listed[0], *listed[-VERSIONS:]]
    found = [one | {"best": one.get("version") == best} for one in reversed(chosen)]
    control = part(document, "control")
    if control:
        found.append(control | {"version": None, "best": False})
    return [one | {"of": _of(one), "main": main_score(one)} for one in found]


def _of(one: Json) -> JsonValue:
    return {str(score.get("set")): score for score in parts(one, "scores") if score.get("split") == "all"}
