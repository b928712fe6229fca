"""``el evaluator``: calibrate the soft score, label changes, and show what is known of it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, TextIO

import click

from everloop.cli import remote

if TYPE_CHECKING:
    from everloop.events import Json
    from everloop.service.installation import Installation

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_AUTHOR = click.option("--author", default="local", show_default=True, help="Who says so.")


@click.group()
def evaluator() -> None:
    """Calibrate the soft score that stands beside the hard rules."""


@evaluator.command()
@click.option("--labels", type=click.File(encoding="utf-8"), help="Record these labels first: JSON lines.")
@_AUTHOR
@_JSON
def calibrate(labels: TextIO | None, author: str, as_json: bool) -> None:
    """Fit the soft score on recorded verdicts and labels, and measure it on runs that are held out.

    Ends with 0 also when it abstains, and says why.
    """
    from everloop.service.evaluator import import_labels, recalibrate

    with _opened() as installation:
        read = import_labels(installation, labels, author) if labels is not None else None
        document = recalibrate(installation)
    if as_json:
        remote.document({**document, "imported": read})
        return
    if read is not None:
        click.echo(f"labels: {read['read']} read, {read['added']} new")
    _print(document)


@evaluator.command()
@click.argument("run")
@click.argument("candidate")
@click.option("--good/--bad", default=None, help="Whether the change was worth keeping; one of them is required.")
@_AUTHOR
@_JSON
def label(run: str, candidate: str, good: bool | None, author: str, as_json: bool) -> None:
    """Say of a recorded candidate whether it was worth keeping; the next calibration counts it."""
    if good is None:
        raise click.UsageError("say --good or --bad")
    from everloop.service.evaluator import label as add

    with _opened() as installation:
        document = add(installation, run, candidate, good=good, author=author)
    told = f"{candidate} of {run} is labelled {'good' if good else 'bad'} by {author}"
    remote.document(document) if as_json else click.echo(told)


@evaluator.command()
@_JSON
def report(as_json: bool) -> None:
    """Show what is known of the calibration in force."""
    from everloop.service.evaluator import report as read

    with _opened() as installation:
        document = read(installation)
    remote.document(document) if as_json else _print(document)


def _opened() -> closing[Installation]:
    from everloop.cli.configuration import settings
    from everloop.service.installation import open_installation

    return closing(open_installation(settings()))


def _print(document: Json) -> None:
    width = max(len(name) for name, _ in _lines(document))
    for name, told in _lines(document):
        click.echo(f"{name:{width}}  {told}")


def _lines(document: Json) -> list[tuple[str, str]]:
    from everloop.fields import figure, interval, number, part, word

    area, irrelevant, probes = part(document, "auc"), part(document, "irrelevant"), part(document, "probes")
    held, low = word(document["held_out_n"]), number(document, "irrelevant_low")
    measured = f"{figure(number(area, 'value'))} {interval(number(area, 'low'), number(area, 'high'))}"
    brier, rate = figure(number(document, "brier")), figure(number(document, "brier_of_rate"))
    lines = [
        ("calibration", f"{word(document['id'])}, {word(document['at'])}"),
        ("scores", f"no: {document['abstained']}" if document["abstained"] else "yes"),
        (
            "verdicts",
            f"{document['n']}: {document['positives']} good, {document['negatives']} bad; {document['labels']} labels",
        ),
        ("held out", f"{held} by {word(document['split'])}; fitted on {document['training_n']}"),
        ("area under the curve", f"{measured} on n={held}" if area else measured.split()[0]),
        ("Brier score", f"{brier}; always the same chance: {rate}"),
        ("irrelevant changes", f"{figure(low, '.0%')} score low (n={irrelevant['n']})" if irrelevant else "—"),
    ]
    for kind in probes:
        probe = part(probes, kind)
        told = f"at most {figure(number(probe, 'value'))}; before the penalty {figure(number(probe, 'raw'))} on average"
        lines.append((f"probe {kind.replace('_', ' ')}", f"{told} (n={probe['n']})"))
    return lines
