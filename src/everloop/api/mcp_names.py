"""The names under which this server may be asked for, out of the settings."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from everloop.address import is_loopback
from everloop.settings import Settings

ANY = "*"
"""As a host: any name. A server that listens for a network and was told no name cannot know its names."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names under which this machine asks itself."""


def own_names(settings: Settings) -> frozenset[str] | None:
    """The names this server answers to; None: any, where it listens for a network and nobody said by what name."""
    public = (urlsplit(settings.public_url).hostname or "").lower() if settings.public_url else ""
    if not public and not _this_machine(settings.host):
        return None
    return LOOPBACK | {one for one in (public, settings.host.lower()) if one}


def names(settings: Settings) -> tuple[list[str], list[str]]:
    """Hosts and origins, for `mcp_app`: this machine's own names, the public address, the address listened on."""
    known = own_names(settings)
    if known is None:
        return [ANY], []
    hosts = [one for name in sorted(known) for one in (_bracketed(name), f"{_bracketed(name)}:*")]
    return hosts, [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]


def _this_machine(host: str) -> bool:
    """Whether it is a loopback address, an IPv4 one written as IPv6 included."""
    try:
        mapped = getattr(ipaddress.ip_address(host), "ipv4_mapped", None)
    except ValueError:
        mapped = None
    return is_loopback(host if mapped is None else str(mapped))


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
