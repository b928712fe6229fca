"""``el approve``: what waits for a person's word, here or at a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from everloop.cli import remote as asking
from everloop.cli import table
from everloop.cli.acting import JSON, acting, opened
from everloop.cli.remote import RemoteGroup
from everloop.fields import MISSING, figure, interval, number, part, parts, word

if TYPE_CHECKING:
    from everloop.client import Client
    from everloop.events import Json
    from everloop.service.installation import Installation

_REMOTE = click.option("--remote", is_flag=True, help="Ask the server of the connection in force, not this machine.")
_REASON = click.option("--reason", metavar="TEXT", help="Why, at most 4000 characters.")
STATES = ("pending", "approved", "rejected", "all")


@click.group(cls=RemoteGroup)
def approve() -> None:
    """Decide what waits for a person, and judge rejected candidates."""


@approve.command("list")
@click.option("--state", type=click.Choice(STATES), default="pending", show_default=True, help="Only these.")
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True, help="Rows.")
@click.option("--cursor", help="Where an earlier page ended: its `next_cursor`.")
@_REMOTE
@JSON
def list_(state: str, limit: int, cursor: str | None, remote: bool, as_json: bool) -> None:
    """List approvals with the evidence they can rest on, newest first."""
    only = None if state == "all" else state

    def here(installation: Installation) -> Json:
        from everloop.service.approvals import listing

        return listing(installation, state=only, limit=limit, cursor=cursor).to_json()

    found = _asked(remote, here, lambda client: client.list_approvals(state=only, limit=limit, cursor=cursor))
    if as_json:
        asking.document(found)
        return
    for one in parts(found, "items"):
        click.echo("\n".join(_approval(one)))
    if not found["items"]:
        none = "Nothing waits for a decision." if state == "pending" else "There is no approval of this state."
        click.echo(none, err=True)
    if found["next_cursor"]:
        click.echo(f"There are more: --cursor {found['next_cursor']}", err=True)


@approve.command()
@click.argument("approval_id", metavar="ID")
@click.option("--approve/--reject", "good", default=None, help="What is decided; one of them is required.")
@_REASON
@_REMOTE
@JSON
def decide(approval_id: str, good: bool | None, reason: str | None, remote: bool, as_json: bool) -> None:
    """Decide an approval, once and for all; a run that is paused for it goes on by itself.

    A rejection needs a reason: it stands in the record, and the operator of the run reads it.
    """
    if good is None:
        raise click.UsageError("say --approve or --reject")
    if not good and not (reason or "").strip():
        raise click.UsageError("a rejection needs --reason")
    said: Literal["approve", "reject"] = "approve" if good else "reject"

    def here() -> Json:
        from everloop.service.approvals import decide as record

        with acting(f"approval.{said}", approval_id) as act:
            return record(act.installation, approval_id, said, reason, act.caller)

    found = _remote(lambda client: client.decide_approval(approval_id, said, reason=reason)) if remote else here()
    told = f"{word(found['approval_id'])} is {word(found['state'])}: {word(found['candidate'])} of {word(found['run'])}"
    asking.document(found) if as_json else click.echo(table.plain(told))


@approve.command()
@click.option("--week", metavar="YYYY-Www", help="ISO week, e.g. 2026-W48; default: the last one that is over.")
@click.option("--project", metavar="ID", help="Project; default: local. Not with --remote.")
@_REMOTE
@JSON
def sample(week: str | None, project: str | None, remote: bool, as_json: bool) -> None:
    """Show the week's sample of rejected candidates, at most 20, for people to judge."""
    if remote and project is not None:
        raise click.UsageError("--project is for this machine: a server shows the project of the key")

    def here(installation: Installation) -> Json:
        from everloop.service.samples import listing

        return listing(installation, week=week, project_id=project)

    found = _asked(remote, here, lambda client: client.samples(week=week))
    if as_json:
        asking.document(found)
        return
    shown, judged = len(parts(found, "items")), word(found["judged"])
    over = "" if found["complete"] else " so far"
    click.echo(f"{word(found['week'])}: {shown} of {word(found['rejected'])} rejected{over}, {judged} of them judged")
    for one in parts(found, "items"):
        click.echo("\n".join(_rejected(one)))


@approve.command()
@click.argument("run")
@click.argument("candidate")
@click.option("--good/--bad", default=None, help="Whether the change was worth keeping; one of them is required.")
@_REASON
@_REMOTE
@JSON
def judge(run: str, candidate: str, good: bool | None, reason: str | None, remote: bool, as_json: bool) -> None:
    """Say of a rejected candidate whether it was worth keeping; the next calibration counts it."""
    if good is None:
        raise click.UsageError("say --good or --bad")

    def here() -> Json:
        from everloop.service.samples import judge as record

        with acting("sample.judge", f"{run}/{candidate}") as act:
            return record(act.installation, run, candidate, good, reason, act.caller)

    found = _remote(lambda client: client.judge_sample(run, candidate, good, reason=reason)) if remote else here()
    told = f"{candidate} of {run} is judged {'good' if good else 'bad'} by {word(found['author'])}"
    asking.document(found) if as_json else click.echo(table.plain(told))


def _asked(at_server: bool, here: Callable[[Installation], Json], there: Callable[[Client], Json]) -> Json:
    """What this machine or the server says."""
    if at_server:
        return _remote(there)
    with opened() as installation:
        return here(installation)


def _remote(there: Callable[[Client], Json]) -> Json:
    with asking.connected() as client:
        return there(client)


def _approval(one: Json) -> list[str]:
    """An approval in lines: what it is about, its figures, its reasons, its decision."""
    evidence, rationale = part(one, "evidence"), part(one, "rationale")
    low, high = number(evidence, "low"), number(evidence, "high")
    change = (
        f"{figure(number(evidence, 'change'), '+.3f')} {interval(low, high, '+.3f')} on n={word(evidence.get('n'))}"
    )
    means = f"{figure(number(evidence, 'mean'))} against {figure(number(evidence, 'baseline_mean'))}"
    test = part(evidence, "evidence")
    log_e = f"log e {figure(number(test, 'log_e'), '.1f')} of {figure(number(test, 'threshold'), '.1f')}"
    lines = [
        f"{word(one.get('approval_id'))}  {word(one.get('state'))}  {word(one.get('created_at'))}",
        f"  {word(one.get('candidate'))} of {word(one.get('run'))}, round {word(one.get('round'))}: "
        f"certify it against {word(one.get('baseline'))}?",
        f"  {change}: {means}; {log_e}",
        f"  what  {word(rationale.get('what'))}",
        f"  risks {word(rationale.get('risks'))}",
    ]
    if one.get("decided_by"):
        lines.append(f"  by {word(one['decided_by'])} at {word(one['decided_at'])}: {word(one.get('reason'))}")
    return [table.plain(line) for line in lines]


def _rejected(one: Json) -> list[str]:
    """A rejected candidate in lines: what it was, why it was refused, what was said of it."""
    proposal, label = part(one, "proposal"), part(one, "label")
    reasons = one.get("reasons")
    why = "; ".join(map(str, reasons)) if isinstance(reasons, list) and reasons else MISSING
    judged = ("good" if label["good"] else "bad") + f", says {word(label['author'])}" if label else "not judged"
    lines = [
        f"{word(one.get('run'))} {word(one.get('candidate'))}  {word(one.get('decision'))}  {judged}",
        f"  what  {word(part(proposal, 'rationale').get('what'))}",
        f"  why   {why}",
    ]
    return [table.plain(line) for line in lines]
