"""What a run may use (limits, goal, stop) and the snapshots of what it certified."""

from everloop.guard.limits import Goal, Limits, Stop

__all__ = ["Goal", "Limits", "Stop"]
