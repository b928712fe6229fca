"""Pages for people: what loops do and have shown, and the forms by which people get in."""

from everloop.console.app import routes

__all__ = ["routes"]
