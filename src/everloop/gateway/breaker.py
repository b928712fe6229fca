"""The circuit breaker of one model: an endpoint that is down is left alone for a while."""

from __future__ import annotations

import time

from everloop.errors import ModelUnavailable
from everloop.gateway.limits import GatewayLimits


class Breaker:
    """Closed; open after N failures in a row; half-open after a while: one probe decides.

    Whoever enters must release, whatever happened: a refused, capped or cancelled probe would otherwise keep every
    later call out for ever.
    """

    def __init__(self, name: str, limits: GatewayLimits) -> None:
        self._name, self._limits = name, limits
        self._failures = 0
        self._opened: float | None = None
        self._probing = False

    @property
    def open(self) -> bool:
        """Whether calls are refused, or but one of them let through."""
        return self._opened is not None

    def enter(self) -> bool:
        """Ask to make a call; True when it is the probe. ModelUnavailable while the circuit is open."""
        if self._opened is None:
            return False
        left = self._opened + self._limits.breaker_seconds - time.monotonic()
        if left > 0 or self._probing:
            raise ModelUnavailable(
                f"model {self._name} is not called",
                why=f"its circuit is open after {self._failures} failures in a row",
                then=f"Try again in {max(left, 1.0):.0f} s; `el doctor` checks the endpoint",
            )
        self._probing = True
        return True

    def release(self, probe: bool) -> None:
        """End a call, with what `enter` returned."""
        if probe:
            self._probing = False

    def succeeded(self) -> None:
        """The endpoint answered: close the circuit."""
        self._failures, self._opened = 0, None

    def failed(self) -> None:
        """The endpoint failed: open the circuit when it did so often enough, and again after a failed probe."""
        self._failures += 1
        if self._failures >= self._limits.breaker_failures:
            self._opened = time.monotonic()
