"""``el version``."""

from __future__ import annotations

import platform

import click

from everloop import __version__
from everloop.cli import remote


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def version(as_json: bool) -> None:
    """Show the version."""
    if as_json:
        remote.document({"everloop": __version__, "python": platform.python_version()})
    else:
        click.echo(f"everloop {__version__} (Python {platform.python_version()})")
