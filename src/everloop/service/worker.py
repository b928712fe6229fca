"""Workers: one in this process, or one as a child of a command that embeds it."""

from __future__ import annotations

import os
import subprocess
import sys

from everloop.child import Child, start
from everloop.paths import Home
from everloop.service.installation import Installation
from everloop.settings import Settings


def serve(settings: Settings, *, drain: bool) -> None:
    """Be a worker until SIGTERM, SIGINT or, with `drain`, until no run is active; this process ends with it."""
    from everloop.loop.worker import main

    main(settings, drain=drain)


def spawn(installation: Installation, *, drain: bool = True) -> subprocess.Popen[bytes]:
    """Start a worker whose log goes to ``HOME/worker.log``; SIGTERM ends it and leaves its runs resumable.

    It is a process group of its own: Ctrl-C at a terminal reaches the caller only, which decides.
    """
    settings = installation.settings
    environment = dict(os.environ)
    environment |= {"EVERLOOP_HOME": str(settings.home), "EVERLOOP_DATABASE_URL": settings.database_url}
    argv = [sys.executable, "-m", "everloop.loop.worker", *(["--drain"] if drain else [])]
    with (installation.home.root / "worker.log").open("ab") as log:
        return subprocess.Popen(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )


def keep(settings: Settings, home: Home) -> Child:
    """Start a worker that waits for runs and ends with this process; its log is ``HOME/worker.log``, mode 0600."""
    environment = {"EVERLOOP_HOME": str(settings.home), "EVERLOOP_DATABASE_URL": settings.database_url}
    return start("everloop.loop.worker", log=home.root / "worker.log", environment=environment)
