"""The names under which the MCP endpoint may be asked for, out of the settings."""

from __future__ import annotations

from urllib.parse import urlsplit

from everloop.address import is_loopback
from everloop.settings import Settings

ANY = "*"
"""As a host: any name. A server that listens for a network and was told no name cannot know its names."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def names(settings: Settings) -> tuple[list[str], list[str]]:
    """Hosts and origins, for `mcp_app`: this machine's own names, the public address, the address listened on."""
    public = urlsplit(settings.public_url).hostname if settings.public_url else None
    if public is None and not is_loopback(settings.host):
        return [ANY], []
    known = [*_LOOPBACK, *(_bracketed(one) for one in (public, settings.host) if one)]
    hosts = list(dict.fromkeys(one for name in known for one in (name, f"{name}:*")))
    return hosts, [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
