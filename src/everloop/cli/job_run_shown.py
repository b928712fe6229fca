"""Runs and rounds as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

from everloop.cli import table
from everloop.cli.fields import dollars, figure, interval, main_score, number, part, parts, word
from everloop.events import Json, JsonValue

COLUMNS = ("RUN", "STATE", "ROUND", "BEST", "SPENT", "UPDATED")


def rows(found: Sequence[Json]) -> None:
    """Summary rows, one run a line."""
    if not found:
        click.echo('There is no run yet. Start one: el job run start RUN --brief "..." --model-usd-cap 5', err=True)
    if found or sys.stdout.isatty():
        table.echo(COLUMNS, [_row(one) for one in found])


def _row(one: Json) -> list[JsonValue]:
    spent = dollars(number(part(one, "spend"), "total_usd"))
    return [one.get("run"), one.get("state"), _rounds(one), one.get("best_version"), spent, one.get("updated_at")]


def _rounds(one: Json) -> str:
    return f"{word(one.get('round'))}/{word(one.get('rounds_target'))}"


def detail(run: Json) -> None:
    """A whole run: facts, versions, gates, rounds, directives."""
    spend = part(run, "spend")
    facts: Json = {
        **table.pick(run, "run", "state", "stop_requested", "mode", "domain", "kind"),
        "round": _rounds(run),
        **table.pick(run, "phase", "best_version", "working_head"),
        "spent": dollars(number(spend, "total_usd")),
        "model_cap": dollars(number(part(run, "limits"), "model_usd_cap")),
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
