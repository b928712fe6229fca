"""``el checkpoint``: saved weights at a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloop.cli import remote
from everloop.cli.remote import JSON, RemoteGroup

if TYPE_CHECKING:
    from everloop.events import Json, JsonValue

_JOB = click.option("--job-id", help="Only those of this job.")
_RUN = click.option("--run-id", help="Only those of this run.")


@click.group(cls=RemoteGroup)
def checkpoint() -> None:
    """List and download checkpoints at a server."""


@checkpoint.command("list")
@_JOB
@_RUN
@click.option("--limit", type=click.IntRange(1, 100), help="Show so many, not all.")
@click.option("--cursor", help="Go on where a page ended (`next_cursor`).")
@JSON
def list_(job_id: str | None, run_id: str | None, limit: int | None, cursor: str | None, as_json: bool) -> None:
    """List checkpoints, newest first."""
    with remote.connected() as client:
        if limit is None and cursor is None:
            page: Json = {"items": [*client.checkpoints(job_id=job_id, run_id=run_id)], "next_cursor": None}
        else:
            page = client.list_checkpoints(job_id=job_id, run_id=run_id, limit=limit, cursor=cursor)
    remote.page(
        page, as_json, ("CHECKPOINT", "TYPE", "BASE MODEL", "JOB", "PATH"), _row, "There is no such checkpoint."
    )


def _row(one: Json) -> list[JsonValue]:
    names = ("checkpoint_id", "checkpoint_type", "base_model")
    job = one.get("job_id") or one.get("train_job_id")
    return [*(one.get(name) for name in names), job, one.get("tinker_path")]


@checkpoint.command()
@click.argument("path")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@_JOB
@_RUN
@JSON
def download(path: str, directory: Path, job_id: str | None, run_id: str | None, as_json: bool) -> None:
    """Fetch a checkpoint's files into a new folder.

    PATH is a checkpoint's id or envloop://JOB/ID. Sizes and SHA-256 are compared; a file that differs is not kept.
    """
    with remote.connected() as client:
        saved = client.download_checkpoint(path, directory, job_id=job_id, run_id=run_id)
    if as_json:
        remote.document({"files": [str(one) for one in saved]})
        return
    for one in saved:
        click.echo(one)
