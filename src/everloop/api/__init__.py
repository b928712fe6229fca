"""REST routes, MCP tools, authentication and wire models: the only place that knows HTTP."""

from everloop.api.app import create_app

__all__ = ["create_app"]
