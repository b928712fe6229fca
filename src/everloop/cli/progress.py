"""Live progress of a run: a display that is redrawn at a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from everloop.cli.watch import Evidence, Family, Watch
from everloop.events import Json
from everloop.fields import END_STATES, MISSING, dollars, figure, number, part, parts, word

ENDED = END_STATES | {"paused"}
"""States that a run does not leave by itself."""
INTERVAL = 0.25
"""Seconds between two looks."""
SHOWN = 6
"""Newest screens and certifications shown."""

Look = Callable[[int | None], Json]
"""Gives the live document with the events after a cursor."""


class Display(Protocol):
    """Where progress goes."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it should stay."""

    def show(self, watch: Watch, news: list[Json]) -> None:
        """Show what is known now; `news` are the events since the last time."""


class Lines:
    """One line an event, on standard error when standard output is for the document."""

    def __init__(self, *, to_stderr: bool) -> None:
        self._to_stderr = to_stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to restore."""

    def show(self, watch: Watch, news: list[Json]) -> None:
        """Print the events."""
        target = word(watch.document.get("rounds_target"))
        for event in news:
            number_ = event.get("round")
            where = f"round {number_}/{target}" if number_ else "start"
            click.echo(f"[{where} {word(event.get('phase'))}] {word(event.get('text'))}", err=self._to_stderr)


class Screen:
    """A display redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._watch = Watch()
        self._began = time.monotonic()
        self._live = Live(console=console, refresh_per_second=8, transient=True, get_renderable=self._draw)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the display."""
        self._live.__exit__(kind, error, trace)

    def show(self, watch: Watch, news: list[Json]) -> None:  # noqa: ARG002 - a redrawn display needs no news
        """Redraw."""
        self._watch = watch

    def _draw(self) -> RenderableType:
        return picture(self._watch, time.monotonic() - self._began)


def display(*, as_json: bool) -> Display:
    """A redrawn display at a terminal; lines otherwise, and with ``--json`` on standard error."""
    console = Console()
    if as_json or not console.is_terminal:
        return Lines(to_stderr=as_json)
    return Screen(console)


def follow(look: Look, shown: Display, *, alive: Callable[[], bool]) -> Json:
    """Show a run until it ends or `alive` is false (one more look is taken then); returns the last live document."""
    watch, cursor, last = Watch(), None, False
    while True:
        document = look(cursor)
        cursor = int(number(document, "next_cursor") or 0)
        shown.show(watch, watch.take(document))
        if document.get("state") in ENDED or last:
            return document
        last = not alive()
        time.sleep(INTERVAL)


def picture(watch: Watch, seconds: float) -> RenderableType:
    """The whole display: head line, families, evidence, recent activity."""
    shown = [_head(watch.document, seconds)]
    if watch.families:
        shown.append(_families(watch.families))
    if watch.evidence:
        shown.append(_evidence(watch.evidence[-SHOWN:]))
    return Group(*shown, _recent(watch))


def _head(document: Json, seconds: float) -> RenderableType:
    current, spend = part(document, "current"), part(document, "spend")
    cap = dollars(number(part(document, "limits"), "model_usd_cap"))
    at_work = f"{word(current.get('role'))} {word(current.get('tool'))}" if current else MISSING
    text = Text()
    text.append(f"{word(document.get('run'))} ", style="bold")
    text.append(
        f"{word(document.get('state'))}  round {word(document.get('round'))}/{word(document.get('rounds_target'))}"
    )
    text.append(f"  phase {word(document.get('phase'))} ({at_work})  best {word(document.get('best_version'))}\n")
    running = [job for job in parts(document, "jobs") if job.get("state") == "running"]
    jobs = f"  job {word(running[0].get('job'))}" if running else ""
    text.append(f"{seconds:.0f} s  spend {dollars(number(spend, 'total_usd'))} of at most {cap}{jobs}", style="dim")
    return text


def _families(families: dict[str, Family]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, header_style="dim")
    table.add_column("family")
    for title in ("working head", "n", "candidate - head", "won/lost of pairs"):
        table.add_column(title, justify="right")
    for name, one in families.items():
        pairs = MISSING if one.pairs is None else f"{one.wins:.0f}/{one.losses:.0f} of {one.pairs:.0f}"
        table.add_row(name, figure(one.head), figure(one.asked, ".0f"), _signed(one.change), pairs)
    return table


def _evidence(evidence: list[Evidence]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, header_style="dim")
    table.add_column("evidence")
    for title in ("candidate", "won", "lost", "pairs", "figure", "needed"):
        table.add_column(title, justify="right")
    for one in evidence:
        form = "+.3f" if one.what == "screen" else ".1f"
        reached = one.value is not None and one.threshold is not None and one.value >= one.threshold
        counts = (figure(count, ".0f") for count in (one.wins, one.losses, one.pairs))
        value = Text(figure(one.value, form), style="green" if reached else "yellow")
        what = "screen: change" if one.what == "screen" else "certify: log e"
        table.add_row(what, one.candidate, *counts, value, figure(one.threshold, form))
    return table


def _recent(watch: Watch) -> RenderableType:
    text = Text(overflow="ellipsis", no_wrap=True)
    for event in reversed(watch.recent):
        text.append(f"{word(event.get('text'))}\n", style="red" if event.get("kind") == "error" else "")
    return text


def _signed(change: float | None) -> Text:
    return Text(
        figure(change, "+.3f"),
        style="" if change is None else "green" if change > 0 else "yellow" if change < 0 else "",
    )
