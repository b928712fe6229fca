"""Where the requests of a model go: address, listing of models, headers, proxy."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from everloop.gateway.base import ModelEntry
from everloop.gateway.provider import base_url

ANTHROPIC_VERSION = "2023-06-01"
"""The version that Anthropic's interface asks its callers to name."""

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """The endpoint of one model."""

    url: str
    """Base URL without a slash at its end."""
    anthropic: bool
    """Whether it speaks Anthropic's wire shape; else OpenAI's."""

    @classmethod
    def of(cls, entry: ModelEntry) -> Target | None:
        """The endpoint of an entry; None where only its provider's library knows it."""
        url = base_url(entry)
        return cls(url.rstrip("/"), entry.provider == "anthropic") if url else None

    @property
    def host(self) -> str:
        """Name or address."""
        return self._parts.hostname or ""

    @property
    def port(self) -> int:
        """TCP port."""
        return self._parts.port or _PORTS[self._parts.scheme]

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted."""
        return self._parts.scheme == "https"

    @property
    def models(self) -> str:
        """URL that lists the endpoint's models; asking for it costs nothing."""
        return f"{self.url}/v1/models?limit=1000" if self.anthropic else f"{self.url}/models"

    @property
    def proxy(self) -> str:
        """``HOST:PORT`` of the proxy that the environment names for this host; empty without one."""
        found = getproxies()
        url = found.get(self._parts.scheme) or found.get("all") or ""
        if not url or proxy_bypass(self.host):
            return ""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 1080)}"

    @property
    def shown(self) -> str:
        """``HOST:PORT`` for messages: no path, no credentials."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of a request with `key`."""
        if self.anthropic:
            return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
        return {"authorization": f"Bearer {key}"} if key else {}

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)
