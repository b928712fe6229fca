"""``el job run report``: a run as one file to send to somebody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloop.cli import remote
from everloop.cli.remote import JSON
from everloop.errors import RunUnreadable

if TYPE_CHECKING:
    from everloop.client import Client
    from everloop.events import Json
    from everloop.language import Language

LANGUAGES = ("en", "zh-CN")
"""Languages of a report."""
HTML, MARKDOWN = frozenset({".html", ".htm"}), frozenset({".md", ".markdown"})
"""Endings that say what the report is written as."""


def _file(_: click.Context, __: click.Parameter, path: Path) -> Path:
    if path.suffix.lower() not in HTML | MARKDOWN:
        raise click.BadParameter("the name must end in .html or .md, which says what the report is written as")
    return path


@click.command()
@click.argument("run")
@click.option(
    "-o",
    "--output",
    required=True,
    callback=_file,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where it goes; .html or .md says what it is written as. A file that is there is replaced.",
)
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Its language.")
@JSON
def report(run: str, output: Path, language: str, as_json: bool) -> None:
    """Write a run as one file that needs nothing else: what is shown, on what evidence, at what cost.

    It begins with what is shown against v0 and against the control arm, or that nothing is. Of a run whose past cannot
    be read it says so; one whose record cannot be read at all has no report.
    """
    from everloop.cli.saving import save
    from everloop.language import LANGUAGES as KNOWN

    if language not in KNOWN:
        raise click.UsageError(f"the texts in {language} are not built here: `make translations` builds them")
    with remote.connected() as client:
        document = client.run(run)
        if document.get("state") == "unreadable":
            raise _unreadable(run)
        text = _written(document, _history(client, run), KNOWN[language], output)
    save(output, text)
    if as_json:
        remote.document({"run": run, "file": str(output), "language": language})
    else:
        click.echo(output)


def _written(document: Json, history: Json | None, language: Language, output: Path) -> str:
    from everloop.report.html import html
    from everloop.report.markdown import markdown

    write = html if output.suffix.lower() in HTML else markdown
    return write(document, history, language)


def _history(client: Client, run: str) -> Json | None:
    """None where what is on record of the run's past cannot be read, which alone is refused as a conflict."""
    from everloop.client import RemoteError

    try:
        return client.history(run)
    except RemoteError as error:
        if error.http != 409:
            raise
        return None


def _unreadable(run: str) -> RunUnreadable:
    then = "The server's log has the reason; other runs are not affected"
    return RunUnreadable(f"there is no report of run {run}, since its record cannot be read", then=then)
