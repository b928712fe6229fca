"""``el doctor``: what this machine has and lacks, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from everloop.cli.checks import Check

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(as_json: bool) -> None:
    """Check that this machine can run loops.

    Walks to each configured model, up to its first broken link; no paid call is made. Ends with 1 when a check fails; a
    warning is something that works but could work better.
    """
    from everloop.cli.checks import CHECKS
    from everloop.cli.configuration import settings
    from everloop.cli.model_checks import model_checks

    installed = settings()
    found = [check(installed) for check in CHECKS]
    found += model_checks(installed, found)
    _print_json(found) if as_json else _print(found)
    if any(check.result == "fail" for check in found):
        raise SystemExit(1)


def _print_json(found: Sequence[Check]) -> None:
    failed = any(check.result == "fail" for check in found)
    click.echo(json.dumps({"ok": not failed, "checks": [check.to_json() for check in found]}, indent=2))


def _print(found: Sequence[Check]) -> None:
    for check in found:
        mark, colour = _MARKS[check.result]
        click.echo(f"{click.style(mark, fg=colour)} {check.check}: {check.told}")
        if check.then:
            click.echo(f"    {check.then}")
