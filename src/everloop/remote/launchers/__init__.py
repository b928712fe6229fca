"""Launchers: `base` has the interface, `registry` finds them. Nothing is imported here, for the keeper's sake."""
