"""Where the pages of the runs are that jobs, checkpoints and approvals name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from everloop.console.addresses import run_path
from everloop.console.visits import Visit
from everloop.service import groups


def run_links(visit: Visit, names: Collection[str]) -> Mapping[str, str]:
    """Run -> path of its page, for those of these runs that the reader sees; a mere label leads nowhere."""
    found = groups.of(visit.place, {name for name in names if name}, visit.person())
    return {run: run_path(visit.here, group, run) for run, group in found.items()}
