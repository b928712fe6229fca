"""Addresses of the console's own pages, wherever a proxy puts them."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from starlette.requests import HTTPConnection

NEXT = 512
"""Most characters of an address to go on to."""


def under_root(request: HTTPConnection, path: str, **query: str) -> str:
    """The address of a path of this application, below the proxy's path where there is one."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    asked = urlencode({name: value for name, value in query.items() if value})
    return f"{root}{path}?{asked}" if asked else f"{root}{path}"


def own_path(asked: str) -> str:
    """`asked` if it is a path of this application, else ``/``: nobody is sent on to another site.

    Browsers take ``//host``, ``/\\host`` and the like for other sites, and drop tabs and line ends on the way.
    """
    plain = asked.isascii() and asked.isprintable() and "\\" not in asked and len(asked) <= NEXT
    if not plain or not asked.startswith("/") or asked.startswith("//"):
        return "/"
    try:
        parts = urlsplit(asked)
    except ValueError:
        return "/"
    return asked if not parts.scheme and not parts.netloc else "/"
