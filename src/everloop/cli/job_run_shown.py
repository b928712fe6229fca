"""Runs and rounds as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import click

from everloop.cli import following, table
from everloop.events import Json, JsonValue
from everloop.fields import END_STATES, dollars, figure, interval, main_score, number, part, parts, word

COLUMNS = ("RUN", "STATE", "ROUND", "BEST", "SPENT", "UPDATED")
ENDED = END_STATES | {"paused"}
"""States of a run that does nothing now."""
EVENTS = 10
"""Events of a moment."""


def rows(found: Sequence[Json]) -> None:
    """Summary rows, one run a line."""
    none = 'There is no run yet. Start one: el job run start RUN --brief "..." --model-usd-cap 5'
    table.echo(COLUMNS, [_row(one) for one in found], none)


def _row(one: Json) -> list[JsonValue]:
    spent = dollars(number(part(one, "spend"), "total_usd"))
    return [one.get("run"), one.get("state"), _rounds(one), one.get("best_version"), spent, one.get("updated_at")]


def _rounds(one: Json) -> str:
    return f"{word(one.get('round'))}/{word(one.get('rounds_target'))}"


def reason(run: Json, live: Callable[[], Json]) -> str | None:
    """Why a run is where it stands, by the newest event that says so, else its error; None while it goes on.

    `live` asks for the newest events; without its answer the error alone is told.
    """
    state = run.get("state")
    if state not in ENDED:
        return None
    if state == "paused" and any(one.get("state") == "pending" for one in parts(run, "approvals")):
        return "a person is to decide: see `el approve list`"
    for event in reversed(_events(live)):
        if event.get("kind") in {"round", "error"} and part(event, "data").get("state") == state:
            return word(event.get("text"))
    error = part(run, "error")
    return f"{word(error.get('code'))}: {word(error.get('message'))}" if error else None


def _events(live: Callable[[], Json]) -> list[Json]:
    from everloop.client import RemoteError

    try:
        return parts(live(), "events")
    except RemoteError:
        # the run itself is there to be shown
        return []


def moment(run: str, live: Json) -> None:
    """What a run does now, for a person: facts, and its last events."""
    current = table.pick(live, "phase", "current", "updated_at")
    spent = dollars(number(part(live, "spend"), "total_usd"))
    table.facts({"run": run, **table.pick(live, "state"), "round": _rounds(live), **current, "spent": spent})
    click.echo()
    for event in parts(live, "events")[-EVENTS:]:
        click.echo(following.told(event))


def _of(used: str, cap: str | None) -> str:
    return used if cap is None else f"{used} of {cap}"


def _spending(run: Json) -> Json:
    """What was used of each cap; what has none stands alone."""
    spend, limits = part(run, "spend"), part(run, "limits")
    found: Json = {}
    for name, used, cap in (("spent", "total_usd", "usd_cap"), ("model_spent", "model_usd", "model_usd_cap")):
        most = number(limits, cap)
        found[name] = _of(dollars(number(spend, used)), None if most is None else dollars(most))
    counts = {name: number(spend, name) for name in ("model_requests", "student_requests")}
    every = sum(one or 0 for one in counts.values())
    for name, made in {**counts, "requests": every}.items():
        most = number(limits, f"{name.removesuffix('s')}_cap")
        if made is not None and (name in spend or most is not None):
            found[name] = _of(f"{made:g}", None if most is None else f"{most:g}")
    return found


def detail(run: Json, why: str | None = None) -> None:
    """A whole run: facts, `why` it stands where it does, versions, gates, rounds, directives."""
    facts: Json = {
        **table.pick(run, "run", "state"),
        **({} if why is None else {"reason": why}),
        **table.pick(run, "stop_requested", "mode", "domain", "kind"),
        "round": _rounds(run),
        **table.pick(run, "phase", "best_version", "working_head"),
        **_spending(run),
        **table.pick(run, "machine", "error", "created_at", "updated_at", "brief"),
    }
    table.facts(facts)
    _section("Versions", ("VERSION", "ROWS", "SET", "MEAN", "INTERVAL", "N"), map(_version, parts(run, "versions")))
    gates = ("GATE", "CANDIDATE", "BASELINE", "PASSED", "CHANGE", "INTERVAL", "N")
    _section("Gates", gates, map(_gate, parts(run, "gates")))
    waits = ("approval_id", "candidate", "state", "reason")
    approvals = ([one.get(name) for name in waits] for one in parts(run, "approvals"))
    _section("Approvals", ("APPROVAL", "CANDIDATE", "STATE", "REASON"), approvals)
    told = ("round", "decision", "version", "summary")
    _section(
        "Rounds", [one.upper() for one in told], ([one.get(name) for name in told] for one in parts(run, "rounds"))
    )
    _reviews(parts(run, "reviews"))
    directives = ([one.get(name) for name in ("at", "author", "text")] for one in parts(run, "directives"))
    _section("Directives", ("AT", "AUTHOR", "TEXT"), directives)


def round_detail(found: Json) -> None:
    """One round: facts, interventions, candidates and their reviews."""
    told = table.pick(found, "round", "decision", "version", "started_at", "ended_at", "plan", "summary")
    table.facts(told)
    names = ("target", "what", "why", "expected", "risk")
    changes = ([one.get(name) for name in names] for one in parts(found, "interventions"))
    _section("Interventions", [one.upper() for one in names], changes)
    candidates = parts(found, "candidates")
    rows = ([one.get("candidate"), one.get("decision"), one.get("reasons")] for one in candidates)
    _section("Candidates", ("CANDIDATE", "DECISION", "REASONS"), rows)
    _reviews([review for one in candidates for review in parts(one, "reviews")])


def _reviews(found: Sequence[Json]) -> None:
    names = ("kind", "version", "passed", "reason")
    _section("Reviews", [one.upper() for one in names], ([one.get(name) for name in names] for one in found))


def _version(one: Json) -> list[JsonValue]:
    score = main_score(one) or {}
    low, high = number(score, "low"), number(score, "high")
    mean = figure(number(score, "mean"))
    return [one.get("version"), one.get("rows"), score.get("set"), mean, interval(low, high), score.get("n")]


def _gate(one: Json) -> list[JsonValue]:
    change = figure(number(one, "change"), "+.3f")
    ends = interval(number(one, "low"), number(one, "high"), "+.3f")
    names = [one.get(name) for name in ("gate", "candidate", "baseline", "passed")]
    return [*names, change, ends, one.get("n")]


def _section(title: str, columns: Sequence[str], rows: Iterable[Sequence[JsonValue]]) -> None:
    listed = list(rows)
    if listed:
        click.echo(f"\n{title}")
        table.echo(columns, listed)
