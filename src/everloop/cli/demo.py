"""``el demo``: a whole run on this machine, with its worker as a child process."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from everloop.events import Json
    from everloop.service.installation import Installation

BRIEF = "Learn to add and subtract with carries and borrows without forgetting the rest."
DRY_BRIEF = "Make the model answer sums rightly by changing its prompt alone."
NAMES = {"arith": "arith-carry", "sums": "sums-prompt"}
"""Domain -> beginning of the demo's run ids; others take the domain's own name."""
TASKS, FEW_TASKS = 1000, 150
"""Tasks a family and round that the student is asked, and with ``--fast``: they cost next to nothing here, and the more
of its own verified answers it learns from, the further it gets beyond training longer on the same rows."""
DRY: Json = {
    "diag_per_family": 12,
    "dev_n": 60,
    "admission_n": 24,
    "eval_limit": 400,
    "blind_n": 90,
    "calib_n": 60,
}
"""Sizes of a dry demo."""
FAST_DRY: Json = {**DRY, "diag_per_family": 8, "dev_n": 40, "admission_n": 12, "eval_limit": 240, "blind_n": 60}
"""Sizes of a dry demo with ``--fast``."""
INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM, as a shell gives them."""
FIXED = {
    "name": "--run",
    "rounds": "--rounds",
    "seed": "--seed",
    "fast": "--fast",
    "domain": "--domain",
    "dry": "--dry",
}
"""Parameter -> option that a run which goes on has already."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends the demo as Ctrl-C does."""


@click.command()
@click.option(
    "--run", "name", metavar="NAME", help="Id of the new run; default: arith-carry-1, or the next that is free."
)
@click.option(
    "--rounds", metavar="N", type=click.IntRange(1, 1000), help="Rounds, 1 to 1000; default: 3, or 1 with --fast."
)
@click.option(
    "--seed",
    metavar="S",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Seed of everything random.",
)
@click.option("--fast", is_flag=True, help="One round on fewer samples.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the run document as one JSON document; progress goes to standard error.",
)
@click.option(
    "--chart", "chart_file", type=click.Path(dir_okay=False, path_type=Path), help="Where the SVG chart goes."
)
@click.option("--resume", metavar="RUN", help="Go on with an earlier run instead of starting one.")
@click.option("--domain", help="What the student learns; default: arith, or sums with --dry.")
@click.option("--dry", is_flag=True, help="Train nothing: improve the prompt of a small language model.")
@click.pass_context
def demo(
    ctx: click.Context,
    name: str | None,
    rounds: int | None,
    seed: int,
    fast: bool,
    as_json: bool,
    chart_file: Path | None,
    resume: str | None,
    domain: str | None,
    dry: bool,
) -> None:
    """Train a student over several rounds and show what the evidence supports.

    Everything stays on this machine: a small transformer learns arithmetic, each candidate is compared with the version
    before it on items that neither has seen, and the winner is confirmed on blind items beside a control arm. Ctrl-C
    leaves the run resumable.

    With --dry nothing is trained: the student is the language model SmolLM2 on this machine, and a candidate is a
    prompt for it.
    """
    from everloop.cli import embedded
    from everloop.cli.configuration import settings
    from everloop.service.installation import open_installation

    if resume is not None:
        _refuse_fixed(ctx)
    installation = open_installation(settings())
    run = resume
    try:
        with _terminable(), _student(installation, dry=dry, resume=resume):
            if resume is not None:
                run = embedded.go_on(installation, resume)
            else:
                make = _dry_request if dry else _request
                run = _start(installation, make(domain, rounds, seed, fast=fast), name, quiet=as_json)
            document = embedded.carry(installation, run, as_json=as_json)
        _show(document, chart_file or installation.home.run(run).root / "scores.svg", as_json=as_json)
    except KeyboardInterrupt as stop:
        then = "" if run is None else f" Go on with: el demo --resume {run}"
        click.echo(f"\nInterrupted; nothing is lost.{then}", err=True)
        ctx.exit(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED)
    finally:
        installation.close()
    ctx.exit(0 if document["state"] == "finished" else 1)


def _refuse_fixed(ctx: click.Context) -> None:
    given = [option for name, option in FIXED.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if given:
        raise click.UsageError(f"--resume goes on with a run as it was started; leave {', '.join(given)} out.")


@contextmanager
def _terminable() -> Iterator[None]:
    """Meanwhile SIGTERM interrupts, once: what it ends must not be left behind by a second one."""

    def terminate(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _student(installation: Installation, *, dry: bool, resume: str | None) -> Iterator[None]:
    """Serve the local model meanwhile, for a dry run that asks it."""
    from everloop.service import local_model, runs

    if resume is not None:
        document = runs.document(installation, resume, rounds=1)
        options = cast("Json", document["options"])
        dry = document["mode"] == "dry" and options.get("student_model") == local_model.NAME
    if not dry:
        yield
        return
    with local_model.served(installation):
        yield


def _dry_request(domain: str | None, rounds: int | None, seed: int, *, fast: bool) -> Json:
    limits: Json = {"model_usd_cap": 1.0, **(FAST_DRY if fast else DRY)}
    return {
        "brief": DRY_BRIEF,
        "domain": domain or "sums",
        "rounds": rounds or (1 if fast else 3),
        "limits": limits,
        "options": {"seed": seed},
        "dry_run": True,
        "student_model": "smollm2",
    }


def _request(domain: str | None, rounds: int | None, seed: int, *, fast: bool) -> Json:
    limits: Json = {"model_usd_cap": 1.0, "collect_tasks": FEW_TASKS if fast else TASKS}
    chosen = rounds or (1 if fast else 3)
    known = domain or "arith"
    return {"brief": BRIEF, "domain": known, "rounds": chosen, "limits": limits, "options": {"seed": seed}}


def _start(installation: Installation, request: Json, name: str | None, *, quiet: bool) -> str:
    from everloop.service import run_start
    from everloop.service.request import StartRequest

    run = name or _free(installation, NAMES.get(str(request["domain"]), str(request["domain"])))
    started = run_start.start(installation, StartRequest.from_json({"run": run, **request}))
    click.echo(f"Run {run}: {request['rounds']} rounds of {request['domain']}, in {installation.home.root}", err=quiet)
    effect = cast("Json", started["protocol"])["minimum_detectable_effect"]
    power = f"A certification can show a gain of {effect} and more, four times in five, if one answer in five differs"
    click.echo(f"{power}; a smaller one if fewer do.", err=quiet)
    return run


def _free(installation: Installation, stem: str) -> str:
    """The first run id of the stem that is not taken; says so when it is not the first of all."""
    from everloop.errors import RunNotFound
    from everloop.service import runs

    place = 1
    while True:
        run = f"{stem}-{place}"
        try:
            runs.live(installation, run)
        except RunNotFound:
            if place > 1:
                click.echo(f"{stem}-1 exists already; this one is {run}.", err=True)
            return run
        place += 1


def _show(document: Json, chart_file: Path, *, as_json: bool) -> None:
    from everloop.cli.board import print_board
    from everloop.cli.saving import save
    from everloop.language import ENGLISH
    from everloop.pictures import scores, standalone

    save(chart_file, standalone(scores(document, ENGLISH)))
    if as_json:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        print_board(document)
    click.echo(f"Chart: {chart_file}", err=as_json)
    state, run = document["state"], document["run"]
    if state in {"paused", "stopped"}:
        click.echo(f"The run is {state}. Go on with: el demo --resume {run}", err=True)
