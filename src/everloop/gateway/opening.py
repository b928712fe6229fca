"""A gateway over an installation's configured models, opened at its first use."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from everloop.gateway.base import ModelEntry
from everloop.gateway.entries import entry_of
from everloop.gateway.limits import GatewayLimits
from everloop.gateway.secrets import Secrets
from everloop.paths import Home
from everloop.settings import Settings
from everloop.store import models
from everloop.store.database import Database

if TYPE_CHECKING:
    from everloop.gateway.gateway import Gateway

FRESH_SECONDS = 1.0
"""A model's entry is read again after so long: a run asks for it with every item."""


class Opening:
    """The gateway of an installation. A process that asks no model never loads what a gateway needs."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings, self._database = settings, database
        self._lock = threading.Lock()
        self._opened: Gateway | None = None
        self._known: dict[str, tuple[float, ModelEntry]] = {}

    def gateway(self) -> Gateway:
        """The gateway; keys are read when a client is made."""
        from everloop.gateway.gateway import Gateway

        with self._lock:
            if self._opened is None:
                keys = Secrets(Home(self._settings.home))
                self._opened = Gateway(self.entry, keys.read, limits_of(self._settings))
            return self._opened

    def entry(self, name: str) -> ModelEntry:
        """A model as it is configured, at most `FRESH_SECONDS` old. ModelNotConfigured when there is none."""
        now = time.monotonic()
        known = self._known.get(name)
        if known is None or now - known[0] > FRESH_SECONDS:
            known = self._known[name] = (now, self._database.retrying(lambda: self._read(name)))
        return known[1]

    def close(self) -> None:
        """Close the gateway, if it was opened."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    def _read(self, name: str) -> ModelEntry:
        with self._database.read() as tx:
            return entry_of(models.require(tx, name).document)


def open_gateway(settings: Settings, database: Database) -> Gateway:
    """The gateway of an installation, now; the caller closes it."""
    return Opening(settings, database).gateway()


def limits_of(settings: Settings) -> GatewayLimits:
    """The gateway's limits as an installation sets them."""
    return GatewayLimits(
        deadline_seconds=settings.model_deadline_seconds,
        retries=settings.model_retries,
        retry_after_seconds=settings.model_retry_after_seconds,
        breaker_failures=settings.model_breaker_failures,
        breaker_seconds=settings.model_breaker_seconds,
    )
