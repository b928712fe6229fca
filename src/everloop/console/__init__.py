"""Pages for people: signing in, who one is here, letting a command line in."""

from everloop.console.app import routes

__all__ = ["routes"]
