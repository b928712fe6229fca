"""The server process: API and pages in one application, uvicorn over a listening socket, TLS and forwarded headers as
the settings say."""

from __future__ import annotations

import gc
import logging
import os
import resource
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from everloop import address, listening
from everloop.api.app import create_app
from everloop.api.connection import Connection
from everloop.console.app import routes
from everloop.console.live import POLLS
from everloop.console.nowhere import nowhere
from everloop.service.installation import SERVING, Installation, open_installation
from everloop.settings import Settings

CONNECTIONS = 4096
"""Open connections at once; beyond it the answer is 503."""
BACKLOG = 1024
"""Connections that may wait to be accepted."""
KEEP_ALIVE_SECONDS = 15
"""Seconds an idle connection stays open."""
FILES = 8192
"""Open files the process asks for: connections, database, what it sends."""
READY = b"ready"
"""What the parent of a server reads once requests are answered."""


def serve(installation: Installation, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve API and pages until SIGTERM or SIGINT; requests under way then get ten seconds.

    `ready` is called once requests are answered. The installation's settings name the port that was really taken.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    _room_for_files()
    gc.collect()
    gc.freeze()  # what is there now stays: looking through all of it again and again would hold answers up
    listening.serve(configured(application(installation), installation.settings), listener, ready)


def application(installation: Installation, clock: Callable[[], float] = time.monotonic) -> FastAPI:
    """API and pages of an installation; `clock` is what the rate limits go by."""
    return create_app(installation, routes(installation), POLLS, nowhere(installation), clock)


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs: no access log, since addresses can hold tokens; forwarded headers from trusted proxies only."""
    trusted = address.proxies(settings)
    return uvicorn.Config(
        app,
        loop="auto" if sys.platform == "win32" else "uvloop",
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted),
        forwarded_allow_ips=trusted,
        limit_concurrency=CONNECTIONS,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=listening.GRACE_SECONDS,
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
    )


def _room_for_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main() -> None:
    """Be the server process of `el up`: serve on an inherited socket and tell the parent once requests are answered."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    told = int(sys.argv[2])
    for descriptor in (listener.fileno(), told):
        os.set_inheritable(descriptor, False)
    settings = address.of(Settings(), listener)
    installation = replace(open_installation(settings, patience=SERVING), settings=settings)

    def ready() -> None:
        os.write(told, READY)
        os.close(told)

    try:
        serve(installation, listener, ready)
    finally:
        installation.close()


if __name__ == "__main__":
    main()
