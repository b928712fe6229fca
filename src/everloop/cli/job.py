"""``el job``: train jobs and runs at a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

import click

from everloop.cli import remote, table
from everloop.cli.job_run import run
from everloop.cli.remote import JSON, RemoteGroup

if TYPE_CHECKING:
    from everloop.client import Client
    from everloop.events import Json, JsonValue

STATUSES = ("pending", "running", "stopping", "completed", "failed", "cancelled")
SOURCES = ("all", "system", "runtime")
_LIMIT = click.option("--limit", type=click.IntRange(1, 100), help="Show so many, not all.")
_CURSOR = click.option("--cursor", help="Go on where a page ended (`next_cursor`).")


@click.group(cls=RemoteGroup)
def job() -> None:
    """Start, follow and steer runs, and submit train jobs, at a server."""


job.add_command(run)


@job.command("list")
@click.option("--type", "kind", type=click.Choice(["train"]), help="Only jobs of this type.")
@click.option("--status", type=click.Choice(STATUSES), help="Only jobs of this status.")
@_LIMIT
@_CURSOR
@JSON
def list_(kind: str | None, status: str | None, limit: int | None, cursor: str | None, as_json: bool) -> None:
    """List jobs, newest first."""
    with remote.connected() as client:
        if limit is None and cursor is None:
            page: Json = {"items": [*client.jobs(type=kind, status=status)], "next_cursor": None}
        else:
            page = client.list_jobs(type=kind, status=status, limit=limit, cursor=cursor)
    any_ = kind is None and status is None
    none = "There is no job yet. Submit one: el job submit --file FILE" if any_ else "There is no such job."
    remote.page(page, as_json, ("JOB", "TYPE", "STATUS", "RUN", "BASE MODEL", "CREATED", "FINISHED"), _row, none)


def _row(one: Json) -> list[JsonValue]:
    training, labels = one.get("training"), one.get("user_metadata")
    training = training if isinstance(training, dict) else {}
    labels = labels if isinstance(labels, dict) else training.get("user_metadata")
    run = labels.get("rsi_run") if isinstance(labels, dict) else None
    model = one.get("base_model") or training.get("base_model")
    names = ("job_id", "type", "status")
    return [*(one.get(name) for name in names), run, model, one.get("created_at"), one.get("finished_at")]


@job.command()
@click.argument("job_id")
def get(job_id: str) -> None:
    """Show a job, as JSON."""
    with remote.connected() as client:
        remote.document(client.job(job_id))


@job.command()
@click.argument("job_id")
def result(job_id: str) -> None:
    """Show what a job came to, as JSON."""
    with remote.connected() as client:
        remote.document(client.job_result(job_id))


@job.command()
@click.argument("job_id")
def stop(job_id: str) -> None:
    """Stop a submitted job; its answer is JSON."""
    with remote.connected() as client:
        remote.document(client.stop_job(job_id))


@job.command()
@click.argument("job_id")
@click.option("--source", type=click.Choice(SOURCES), help="Only records of this source.")
@click.option("--tail", type=click.IntRange(1, 1000), help="Begin with the last so many records; default 200.")
@click.option("--limit", type=click.IntRange(1, 1000), help="Most records of a page; not with --follow.")
@_CURSOR
@click.option("--follow", is_flag=True, help="Go on until the log is complete; Ctrl-C leaves the job running.")
@JSON
def log(
    job_id: str,
    source: str | None,
    tail: int | None,
    limit: int | None,
    cursor: str | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Read a job's log; with --follow and --json, one page a line."""
    if tail is not None and cursor is not None:
        raise click.UsageError("give --tail or --cursor, not both")
    with remote.connected() as client:
        if not follow:
            page = client.job_logs(job_id, source=source, tail=tail, limit=limit, cursor=cursor)
            remote.document(page) if as_json else _printed(page)
            return
        from everloop.cli.following import interruptible

        with interruptible("The job goes on."):
            for page in client.follow_log(job_id, source=source, tail=tail, cursor=cursor, missed=remote.missed()):
                remote.line(page) if as_json else _printed(page)


def _printed(page: Json) -> None:
    from everloop.fields import parts

    for one in parts(page, "items"):
        for line in str(one.get("content") or "").splitlines():
            click.echo(table.plain(line))


@job.command()
@click.option("--type", "kind", type=click.Choice(["train"]), default="train", show_default=True, help="Type of job.")
@click.option("--file", "file", type=click.File(encoding="utf-8"), required=True, help="Its JSON; - is standard input.")
@click.option("--request-id", help="Makes a repeated submit harmless; default: the file's, else a new one.")
@click.option("--wait", is_flag=True, help="Wait until it has ended; Ctrl-C leaves it running.")
@click.option("--timeout-sec", type=click.FloatRange(min=0), default=600, show_default=True, help="Longest wait.")
@JSON
def submit(kind: str, file: TextIO, request_id: str | None, wait: bool, timeout_sec: float, as_json: bool) -> None:
    """Submit a train job.

    With --wait it ends with 1 when the job failed, was cancelled, or did not end in time.
    """
    asked = {**_asked(file), "type": kind}
    if request_id is not None or "request_id" not in asked:
        asked["request_id"] = request_id if request_id is not None else _fresh()
    with remote.connected() as client:
        found = client.submit_job(asked)
        if wait:
            from everloop.cli.following import interruptible

            with interruptible("The job goes on."):
                found = client.wait_job(str(found.get("job_id")), seconds=timeout_sec, missed=remote.missed())
        left = _left(client, found) if wait else None
    remote.document(found) if as_json else table.facts(table.pick(found, "job_id", "type", "status", "created_at"))
    click.echo(table.plain(_next(found, left)), err=True)
    if wait and found.get("status") != "completed":
        click.get_current_context().exit(1)


def _left(client: Client, job: Json) -> str | None:
    """Where the checkpoint of a completed job is."""
    from everloop.client import RemoteError
    from everloop.fields import part

    if job.get("status") != "completed":
        return None
    try:
        path = part(client.job_result(str(job.get("job_id"))), "checkpoint").get("tinker_path")
    except RemoteError:
        # the job is done, and that alone was asked for
        return None
    return path if isinstance(path, str) else None


def _next(job: Json, left: str | None) -> str:
    """What to do after a submit, in one line."""
    name, status = job.get("job_id"), job.get("status")
    if left is not None:
        return f"Its checkpoint: {left}. Fetch it: el checkpoint download {left} DIRECTORY"
    if status == "completed":
        return f"See what it came to: el job result {name}"
    if status in {"failed", "cancelled"}:
        return f"See why: el job log {name}"
    return f"Follow it: el job log {name} --follow"


def _asked(file: TextIO) -> Json:
    try:
        found = json.load(file)
    except ValueError as error:
        raise click.UsageError(f"--file holds no JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.UsageError("--file must hold a JSON object")
    # a file that holds only the inner document is a spec
    return found if "spec" in found else {"spec": found}


def _fresh() -> str:
    from uuid import uuid4

    return f"el-{uuid4()}"
