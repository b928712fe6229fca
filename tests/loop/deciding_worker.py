"""A worker during whose pause the approval is decided: after it looked for the word, before it writes that it waits."""

from __future__ import annotations

from everloop.loop.worker import main
from everloop.service import approvals, open_installation
from everloop.settings import Settings


def decide(phase: str, edge: str) -> None:
    """Approve what is asked, at the last moment before the run would be paused for it."""
    if (phase, edge) != ("left", "worked"):
        return
    place = open_installation()
    for one in approvals.listing(place, state="pending").items:
        approvals.decide(place, str(one["approval_id"]), "approve")
    place.close()


if __name__ == "__main__":
    main(Settings(), drain=True, observer=decide)
