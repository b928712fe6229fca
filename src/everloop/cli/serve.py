"""``el serve``: the server alone, in this process."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--host", help="Address to listen on; default: EVERLOOP_HOST, else 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 0: a free one. Default: EVERLOOP_PORT, else 8711.")
@click.option("--ready-file", type=FILE, help="File that says where to connect, once requests are answered.")
def serve(host: str | None, port: int | None, ready_file: Path | None) -> None:
    """Serve the API and the pages in the foreground, without a worker.

    Ctrl-C (or SIGTERM) ends it; requests under way get ten seconds. Any number of servers may share one PostgreSQL.
    """
    from contextlib import ExitStack
    from dataclasses import replace

    from everloop import address, listening, server
    from everloop.cli.configuration import settings
    from everloop.service import first_start
    from everloop.service.installation import SERVING, open_installation

    chosen = settings(host=host, port=port)
    address.check(chosen)
    with ExitStack() as stack:
        listener = stack.enter_context(listening.tcp_port(chosen.host, chosen.port, server.BACKLOG))
        chosen = address.of(chosen, listener)
        installation = open_installation(chosen, patience=SERVING)
        stack.callback(installation.close)
        first_start.ensure(installation)

        def ready() -> None:
            stack.enter_context(listening.ready_file(ready_file, {"url": address.local_url(chosen)}))
            click.echo(f"Serving on {address.public_url(chosen)}", err=True)

        server.serve(replace(installation, settings=chosen), listener, ready)
