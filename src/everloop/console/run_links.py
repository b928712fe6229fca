"""Where the pages of the runs are that jobs, checkpoints and approvals name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from everloop.console.visits import Visit
from everloop.service import groups


def run_links(visit: Visit, names: Collection[str]) -> Mapping[str, str]:
    """Run -> path of its page, for those of these runs that the reader sees; a mere label leads nowhere."""
    found = groups.of_each(visit.place, {name for name in names if name}, visit.person())
    return {run: f"{visit.here}/rsi/{group}-loops/{run}" for run, group in found.items()}
