"""``el version``."""

from __future__ import annotations

import json
import platform

import click

from everloop import __version__


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def version(as_json: bool) -> None:
    """Show the version."""
    if as_json:
        click.echo(json.dumps({"everloop": __version__, "python": platform.python_version()}))
    else:
        click.echo(f"everloop {__version__} (Python {platform.python_version()})")
