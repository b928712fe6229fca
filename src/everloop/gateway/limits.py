"""How long, how often and how patiently the gateway asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayLimits:
    """Bounds of every call, the same for all models."""

    deadline_seconds: float = 120.0
    """Wall time of one attempt from sending to the last byte, so that a slow drip ends too."""
    retries: int = 4
    """Attempts after the first; 3 to 5 are usual."""
    backoff_seconds: float = 1.0
    """Wait before the first retry; it doubles with each, and up to a quarter is added at random."""
    retry_after_seconds: float = 60.0
    """Longest ``Retry-After`` that is waited for; an endpoint that asks for more is reported as unavailable at once."""
    breaker_failures: int = 5
    """Failures in a row that open the circuit of a model: 5xx, timeouts, broken answers; 429 does not count."""
    breaker_seconds: float = 30.0
    """How long an open circuit refuses calls before it lets one probe through."""
