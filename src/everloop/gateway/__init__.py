"""The only way to a model: prices, caps, retries, circuit breaker, journal of calls."""

from everloop.gateway.base import Account, Answer, Call, Charge, KeySource, ModelEntry, Purpose, Use

__all__ = ["Account", "Answer", "Call", "Charge", "KeySource", "ModelEntry", "Purpose", "Use"]
