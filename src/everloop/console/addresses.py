"""Addresses of the console's own pages, wherever a proxy puts them."""

from __future__ import annotations

from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import HTTPConnection

from everloop.service.groups import GROUPS, MODEL

NEXT = 512
"""Most characters of an address to go on to."""


def under_root(request: HTTPConnection, path: str, **query: str) -> str:
    """The address of a path of this application, below the proxy's path where there is one."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    query_text = urlencode({name: value for name, value in query.items() if value})
    return f"{root}{path}?{query_text}" if query_text else f"{root}{path}"


def asked_path(request: HTTPConnection) -> str:
    """The path that was asked for, without the proxy's, whether the proxy takes that off or not."""
    root, path = str(request.scope.get("root_path", "")).rstrip("/"), str(request.scope["path"])
    below = path.removeprefix(root)
    return quote(below if root and below.startswith("/") else path, safe="/:%")


def asked(request: HTTPConnection) -> str:
    """The path and the query that were asked for."""
    path, query = asked_path(request), request.url.query
    return f"{path}?{query}" if query else path


def group_path(here: str, group: str) -> str:
    """The path of the list of a group's runs in the project whose path is `here`."""
    return f"{here}/rsi/{group}-loops"


def run_path(here: str, group: object, run: str) -> str:
    """The path of a run's page in the project whose path is `here`: below the group that lists it, else the models."""
    listed = group if isinstance(group, str) and group in GROUPS else MODEL
    return f"{group_path(here, listed)}/{run}"


def own_path(wanted: str) -> str:
    """`wanted` if it is a path of this application, else ``/``: nobody is sent on to another site.

    Browsers take ``//host``, ``/\\host`` and the like for other sites, and drop tabs and line ends on the way.
    """
    plain = wanted.isascii() and wanted.isprintable() and "\\" not in wanted and len(wanted) <= NEXT
    if not plain or not wanted.startswith("/") or wanted.startswith("//"):
        return "/"
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return "/"
    return wanted if not parts.scheme and not parts.netloc else "/"
