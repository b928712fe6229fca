"""Printing a run's events as they come, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from everloop.cli import remote, sentences
from everloop.cli.table import plain
from everloop.fields import parts, word

if TYPE_CHECKING:
    from everloop.client import Client
    from everloop.events import Json


def follow(client: Client, run: str, since: int, as_json: bool) -> None:
    """Print each event once, ``seq kind: text``, and at last ``state: X``; as JSON lines, the events' documents.

    A server that is away or restarts is waited for. Ctrl-C ends with 130 and leaves the run alone.
    """
    with interruptible("The run goes on."):
        last: Json = {}
        for last in client.follow(run, since=since, missed=remote.missed()):
            for event in parts(last, "events"):
                remote.line(event) if as_json else click.echo(told(event))
        state = last.get("state")
        remote.line({"state": state}) if as_json else click.echo(f"state: {plain(word(state))}")


def told(event: Json) -> str:
    """One event in one line."""
    return plain(f"{event.get('seq')} {event.get('kind')}: {event.get('text') or ''}")


@contextmanager
def interruptible(goes_on: str) -> Iterator[None]:
    """Ctrl-C ends the command, with 130, and says what it did not end."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"Stopped following. {goes_on}", err=True)
        click.get_current_context().exit(sentences.INTERRUPTED)
