"""``el up``: the server and a worker, together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from everloop.cli.children import Ending
    from everloop.service.first_start import First
    from everloop.service.installation import Installation
    from everloop.settings import Settings

FILE = click.Path(path_type=Path, dir_okay=False)
MOST_WORKERS = 64
"""Most workers of one `el up`."""


@click.command()
@click.option("--host", help="Address to listen on; default: EVERLOOP_HOST, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 0: a free one. Default: EVERLOOP_PORT, else 8711.")
@click.option("--workers", type=click.IntRange(1, MOST_WORKERS), default=1, show_default=True, help="Worker processes.")
@click.option("--no-worker", is_flag=True, help="No worker: runs wait for one that is started elsewhere.")
@click.option("--ready-file", type=FILE, help="File that says how to connect, once requests are answered.")
def up(host: str | None, port: int | None, workers: int, no_worker: bool, ready_file: Path | None) -> None:
    """Serve the API and the pages, and carry out runs, in the foreground.

    Commands of this account find the server by themselves while it runs. Ctrl-C (or SIGTERM) ends server and worker;
    runs stay where they are, and the next start carries them on.
    """
    from everloop import address
    from everloop.cli.children import ending
    from everloop.cli.configuration import settings
    from everloop.cli.up_key import alone
    from everloop.service.installation import open_installation

    chosen = settings(host=host, port=port)
    address.check(chosen)
    with ending() as asked:
        installation = open_installation(chosen)
        try:
            with alone(installation.home):
                _up(installation, chosen, 0 if no_worker else workers, ready_file, asked)
        finally:
            installation.close()


def _up(installation: Installation, chosen: Settings, workers: int, ready_file: Path | None, asked: Ending) -> None:
    from everloop import address
    from everloop.cli.children import Children
    from everloop.cli.up_key import connection
    from everloop.listening import ready_file as told_in
    from everloop.listening import tcp_port
    from everloop.service import first_start

    with tcp_port(chosen.host, chosen.port) as listener:
        chosen = address.of(chosen, listener)
        first = first_start.ensure(installation)
        with Children(chosen, installation.home, asked, _warn) as children:
            children.serve(listener)
            if asked.asked:
                return
            with (
                connection(installation, first, address.local_url(chosen)) as document,
                told_in(installation.home.connection, document),
            ):
                children.work(workers)
                _greet(installation, first, chosen)
                with told_in(ready_file, document):
                    children.watch()


def _warn(text: str) -> None:
    click.echo(text, err=True)


def _greet(installation: Installation, first: First, chosen: Settings) -> None:
    from everloop import address
    from everloop.service import sessions

    token = sessions.make_link(installation, first.user_id)
    url = address.public_url(chosen)
    click.echo(f"Serving on {url}")
    click.echo(f"Sign in, once and within ten minutes: {url}/sign-in/link?token={token}")
    click.echo(f"Logs: {installation.home.root}; Ctrl-C ends it.")
