"""guard: limits of a run, snapshots of what was certified."""

from everloop.guard.limits import Goal, Limits, Stop

__all__ = ["Goal", "Limits", "Stop"]
