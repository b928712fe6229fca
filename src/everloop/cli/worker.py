"""``el worker``."""

from __future__ import annotations

import click


@click.command()
@click.option("--drain", is_flag=True, help="End when no run is active and no submitted job waits or runs.")
def worker(drain: bool) -> None:
    """Carry out runs in the foreground.

    Ctrl-C (or SIGTERM) ends it; its runs stay where they are and another worker, or the next one, carries them on.
    """
    from everloop.cli.configuration import settings
    from everloop.service.worker import serve

    serve(settings(), drain=drain)
