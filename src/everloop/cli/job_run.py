"""``el job run``: start, follow, steer and stop runs at a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import click

from everloop.cli import job_run_shown, remote, table
from everloop.cli.job_run_report import report
from everloop.cli.remote import JSON

if TYPE_CHECKING:
    from everloop.events import Json

_USD = click.FloatRange(min=0, min_open=True)
_CONTROLLED = ("run", "action", "state", "rounds_target", "stop_requested")
_COUNT = click.IntRange(min=1)


@click.group()
def run() -> None:
    """Start, follow, steer and stop improvement runs."""


run.add_command(report)


@run.command("list")
@JSON
def list_(as_json: bool) -> None:
    """List all runs of the project, newest update first."""
    with remote.connected() as client:
        rows = list(client.runs())
    if as_json:
        remote.document({"items": [*rows]})
        return
    job_run_shown.rows(rows)


@run.command()
@click.argument("run")
@JSON
def get(run: str, as_json: bool) -> None:
    """Show a run: state, versions with their scores, rounds, reviews, directives."""
    with remote.connected() as client:
        found = client.run(run)
        why = None if as_json else job_run_shown.reason(found, lambda: client.live(run))
    remote.document(found) if as_json else job_run_shown.detail(found, why)


@run.command("round")
@click.argument("run")
@click.argument("number", type=click.IntRange(min=1))
@JSON
def round_(run: str, number: int, as_json: bool) -> None:
    """Show one round: plan, interventions, candidates, decision."""
    with remote.connected() as client:
        found = client.round(run, number)
    remote.document(found) if as_json else job_run_shown.round_detail(found)


@run.command()
@click.argument("run")
@click.option("--brief", help="The goal in words, up to 4000 characters.")
@click.option("--brief-file", type=click.File(encoding="utf-8"), help="File with the goal; - is standard input.")
@click.option("--model-usd-cap", type=_USD, required=True, help="Hard stop: US dollars for the strong models.")
@click.option("--usd-cap", type=_USD, help="Hard stop: US dollars for models and compute together.")
@click.option("--model-request-cap", type=_COUNT, help="Requests to operator and auditor models.")
@click.option("--domain", help="What the student learns; default: the server's.")
@click.option("--rounds", type=click.IntRange(1, 1000), help="Rounds; default: the server's.")
@click.option("--dry-run", is_flag=True, help="Train nothing: the student is a model behind the gateway.")
@click.option("--student-model", help="That model; with --dry-run only.")
@click.option("--limit", "limits", multiple=True, metavar="KEY=N", help="Another limit; may be repeated.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Plug-in or seed; may be repeated.")
@click.option("--goal", metavar="SPLIT=TARGET", help="Finish when this split certifies this score.")
@click.option("--stop-wall-seconds", type=_USD, help="Stop after so many seconds.")
@click.option("--stop-patience", type=_COUNT, help="Stop after so many rounds without progress.")
@click.option("--follow", is_flag=True, help="Then print its events until it ends; Ctrl-C leaves it running.")
@JSON
def start(
    run: str,
    brief: str | None,
    brief_file: TextIO | None,
    model_usd_cap: float,
    usd_cap: float | None,
    model_request_cap: int | None,
    domain: str | None,
    rounds: int | None,
    dry_run: bool,
    student_model: str | None,
    limits: Sequence[str],
    options: Sequence[str],
    goal: str | None,
    stop_wall_seconds: float | None,
    stop_patience: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Start a run; this begins paid work, up to the caps."""
    from everloop.cli import job_run_checks
    from everloop.cli import job_run_request as request

    if student_model and not dry_run:
        raise click.UsageError("--student-model goes with --dry-run only")
    caps = {"model_usd_cap": model_usd_cap, "usd_cap": usd_cap, "model_request_cap": model_request_cap}
    asked: Json = {
        "run": run,
        "brief": request.text(brief, brief_file, "--brief"),
        "limits": {**request.given(caps), **request.numbers(limits, "--limit")},
        **request.given({"domain": domain, "rounds": rounds, "student_model": student_model}),
        **request.given({"dry_run": dry_run or None, "goal": request.goal(goal)}),
        **request.nested("stop", {"wall_seconds": stop_wall_seconds, "patience": stop_patience}),
        **request.nested("options", request.options(options)),
    }
    job_run_checks.check(asked)
    with remote.connected() as client:
        started = client.start_run(asked)
        if not follow:
            _told(started, as_json, "run", "state", "mode", "domain", "rounds_target")
            click.echo(f"Follow it: el job run live {run} --follow", err=True)
            return
        from everloop.cli.following import follow as follow_run

        follow_run(client, run, 0, as_json)


@run.command()
@click.argument("run")
@click.option("--since", type=click.IntRange(min=0), help="Only events after this number.")
@click.option("--follow", is_flag=True, help="Print each event, until the run ends; Ctrl-C leaves it running.")
@JSON
def live(run: str, since: int | None, follow: bool, as_json: bool) -> None:
    """Show what a run does now; with --follow, its events as they come.

    On a terminal a summary and the last ten events; elsewhere, and with --json, the document. Following begins with the
    first event, or after --since, and outlasts restarts of the server.
    """
    with remote.connected() as client:
        if not follow:
            found = client.live(run, since=since)
            brief = sys.stdout.isatty() and not as_json
            job_run_shown.moment(run, found) if brief else remote.document(found)
            return
        from everloop.cli.following import follow as follow_run

        follow_run(client, run, since or 0, as_json)


@run.command()
@click.argument("run")
@click.argument("text")
@JSON
def steer(run: str, text: str, as_json: bool) -> None:
    """Send one message to the running operator; it gets it at its next turn."""
    with remote.connected() as client:
        _told(client.steer(run, text), as_json, "id", "status", "at")


@run.command()
@click.argument("run")
@click.argument("text")
@JSON
def directive(run: str, text: str, as_json: bool) -> None:
    """Add a standing instruction, which every further round sees."""
    with remote.connected() as client:
        _told(client.directive(run, text), as_json, "author", "at", "text")


@run.command()
@click.argument("run")
@JSON
def stop(run: str, as_json: bool) -> None:
    """Stop a run after its current round."""
    _control(run, "stop", as_json)


@run.command()
@click.argument("run")
@JSON
def resume(run: str, as_json: bool) -> None:
    """Go on with a paused or stopped run; this is paid work."""
    _control(run, "resume", as_json)


@run.command()
@click.argument("run")
@click.option("--rounds", type=click.IntRange(1, 1000), required=True, help="The new target, counted from the start.")
@JSON
def extend(run: str, rounds: int, as_json: bool) -> None:
    """Set a run's target; one that has ended goes on. This is paid work."""
    with remote.connected() as client:
        before = client.run(run, compact=True).get("rounds_target")
        told = client.control(run, "extend", rounds=rounds)
    now = told.get("rounds_target")
    click.echo(table.plain(f"Target: {before} rounds before, {now} now."), err=True)
    _told(told, as_json, *_CONTROLLED)


def _control(run: str, action: str, as_json: bool) -> None:
    with remote.connected() as client:
        told = client.control(run, action)
    _told(told, as_json, *_CONTROLLED)


def _told(found: Json, as_json: bool, *names: str) -> None:
    remote.document(found) if as_json else table.facts(table.pick(found, *names))
