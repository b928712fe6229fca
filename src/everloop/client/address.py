"""Base URLs and ids, checked before anything is sent."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from everloop.errors import InvalidRequest

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that may be reached without TLS: nobody listens in between."""
_KEY = re.compile(r"[A-Za-z0-9._~-]{1,512}")
_WORKSPACE = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PROJECT = re.compile(r"[A-Za-z0-9_:-]{1,128}")
_THEN = "Give it like https://everloop.example.com or http://127.0.0.1:8711"


def base_url(text: str) -> str:
    """A base URL in its one form: no trailing slash, no ``/v1``. InvalidRequest for one not to be trusted."""
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidRequest("the base URL cannot be read", why=str(error), then=_THEN) from error
    why = _wrong(parts, host)
    if why or host is None:
        raise InvalidRequest("the base URL cannot be used", why=why, then=_THEN)
    named = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{named}{'' if port is None else f':{port}'}{path}"


def _wrong(parts: SplitResult, host: str | None) -> str:
    if parts.scheme not in {"http", "https"} or not host:
        return "it has no http:// or https:// and host"
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        return "it holds a user, a query or a fragment"
    if not parts.path.isascii() or not host.isascii() or re.search(r"[\s\\]|/\.{1,2}(/|$)", parts.path + host):
        return "its host or path is not plain"
    if parts.scheme == "http" and host not in LOOPBACK:
        return "plain http is for this machine only"
    return ""


def origin(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def loopback(url: str) -> bool:
    """Whether a URL leads to this very machine."""
    return urlsplit(url).hostname in LOOPBACK


def api_key(text: str) -> str:
    """A key, if it has the characters of one; the error does not repeat it."""
    if not _KEY.fullmatch(text):
        raise InvalidRequest("this is no API key", why="a key has letters, digits and . _ ~ - only")
    return text


def workspace_id(text: str) -> str:
    """A workspace id."""
    if not _WORKSPACE.fullmatch(text):
        raise InvalidRequest("this is no workspace id", then="Use 1 to 128 of A-Z, a-z, 0-9, _ and -")
    return text


def project_id(text: str) -> str:
    """A project id."""
    if not _PROJECT.fullmatch(text):
        raise InvalidRequest("this is no project id", then="Use 1 to 128 of A-Z, a-z, 0-9, _, : and -")
    return text
