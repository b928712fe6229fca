"""A worker that kills itself with SIGKILL at planned boundaries of its phases.

The plan is a folder: a file ``PHASE.EDGE`` is one kill still to come. Whoever unlinks it dies there, so each planned
kill lands exactly once, whichever worker and process gets to the boundary first.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from everloop.loop.worker import main
from everloop.settings import Settings


class Executioner:
    """Observes boundaries and kills its own process at those still planned."""

    def __init__(self, plan: Path) -> None:
        self._plan = plan

    def __call__(self, phase: str, edge: str) -> None:
        try:
            (self._plan / f"{phase}.{edge}").unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Settings(), drain="--drain" in sys.argv, observer=Executioner(Path(sys.argv[1])))
