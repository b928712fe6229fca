"""Prices: what a call may cost at worst, and what it did cost, in micro-dollars.

A price of one US dollar a million tokens is one micro-dollar a token, so rates need no conversion. The price list is
the one that comes with genai-prices; it is never fetched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Literal, Protocol

from everloop.errors import ModelNotConfigured
from everloop.gateway.base import ModelEntry

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

ZERO = Decimal(0)
THOUSAND = Decimal(1000)
MOST_TOKENS = 10**9
"""A count beyond it is none."""


class TokenUsage(Protocol):
    """What a provider says it counted; cached tokens are part of `input_tokens`."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    input_audio_tokens: int
    unmeasured_requests: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Micro-dollars a token; a long prompt may move all of its tokens to a higher step."""

    base: Decimal
    """Rate of a prompt below all steps."""
    steps: tuple[tuple[int, Decimal], ...] = ()
    """(input tokens above which it holds, rate), ascending."""

    def at(self, input_tokens: int) -> Decimal:
        """The rate for a prompt of this size."""
        return next((rate for start, rate in reversed(self.steps) if input_tokens > start), self.base)

    @property
    def highest(self) -> Decimal:
        """The rate whatever the size of the prompt."""
        return max(self.base, *(rate for _, rate in self.steps)) if self.steps else self.base


@dataclass(frozen=True, slots=True)
class Price:
    """Rates of one model."""

    source: Literal["owner", "list", "owner and list"]
    """Who set it: the entry, the price list, or one rate each."""
    input: Rate
    """A plain input token."""
    cache_read: Rate
    """An input token read from the provider's cache."""
    cache_write: Rate
    """An input token written to the cache."""
    cache_write_1h: Rate
    """An input token written to the cache for an hour."""
    worst_input: Decimal
    """The highest rate any input token can have, other media included."""
    output: Rate
    """An output token, reasoning included; the highest where kinds of output have rates of their own."""
    request: Decimal = ZERO
    """Micro-dollars a request costs whatever its size."""

    def worst(self, input_tokens: int, output_tokens: int) -> int:
        """Most a call can cost, micro-dollars rounded up."""
        return _up(self.worst_input * input_tokens + self.output.highest * output_tokens + self.request)

    def cost(self, usage: TokenUsage) -> int | None:
        """What a call cost, micro-dollars rounded up; None when the provider did not say what it counted."""
        total = usage.input_tokens
        if usage.unmeasured_requests or not 0 < total <= MOST_TOKENS or not 0 <= usage.output_tokens <= MOST_TOKENS:
            return None
        long = min(usage.cache_write_1h_tokens, usage.cache_write_tokens)
        short = usage.cache_write_tokens - long
        plain = max(0, total - usage.cache_read_tokens - short - long - usage.input_audio_tokens)
        return _up(
            self.input.at(total) * plain
            + self.cache_read.at(total) * usage.cache_read_tokens
            + self.cache_write.at(total) * short
            + self.cache_write_1h.at(total) * long
            + self.worst_input * usage.input_audio_tokens
            + self.output.at(total) * usage.output_tokens
            + self.request
        )


def price_of(entry: ModelEntry, now: datetime | None = None) -> Price:
    """The price of a model at a moment: the owner's, else the list's. ModelNotConfigured when it has none."""
    mine, theirs = _owners(entry, entry.input_usd_per_mtok), _owners(entry, entry.output_usd_per_mtok)
    if mine is not None and theirs is not None:
        rate = Rate(mine)
        return Price("owner", rate, rate, rate, rate, mine, Rate(theirs))
    listed = _listed(entry, now or datetime.now(UTC))
    if mine is None and theirs is None:
        return listed
    rate = listed.input if mine is None else Rate(mine)
    output = listed.output if theirs is None else Rate(theirs)
    if mine is None:
        caches = (listed.cache_read, listed.cache_write, listed.cache_write_1h)
        return Price("owner and list", rate, *caches, listed.worst_input, output, listed.request)
    return Price("owner and list", rate, rate, rate, rate, mine, output, listed.request)


def _owners(entry: ModelEntry, usd: float | None) -> Decimal | None:
    if usd is None:
        return None
    rate = Decimal(str(usd))
    if not rate.is_finite() or rate < 0:
        raise ModelNotConfigured(f"model {entry.name} has a price of {usd}", then="Set it to 0 or more dollars")
    return rate


def _listed(entry: ModelEntry, now: datetime) -> Price:
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(entry.model, None, entry.provider, None)
    except LookupError:
        raise _unknown(entry) from None
    price = model.get_prices(now)
    if price.input_mtok is None or price.output_mtok is None:
        raise _unknown(entry)
    plain = _rate(price.input_mtok)
    read, write = _rate(price.cache_read_mtok, plain), _rate(price.cache_write_mtok, plain)
    hour = _rate(price.cache_write_1h_mtok, write)
    inputs, outputs = _rates(price, ("input_", "cache_")), _rates(price, ("output_",))
    output = _rate(price.output_mtok)
    dearest = max(rate.highest for rate in outputs)
    if dearest > output.highest:
        output = Rate(dearest)
    fee = _rate(price.requests_kcount).highest * 1_000_000 / THOUSAND
    return Price("list", plain, read, write, hour, max(rate.highest for rate in inputs), output, fee)


def _rates(price: ModelPrice, prefixes: tuple[str, ...]) -> list[Rate]:
    found: Iterable[tuple[str, object]] = vars(price).items()
    return [
        _rate(value) for key, value in found if key.startswith(prefixes) and key.endswith("_mtok") and value is not None
    ]


def _rate(value: object, missing: Rate = Rate(ZERO)) -> Rate:
    from genai_prices.types import TieredPrices

    if isinstance(value, TieredPrices):
        return Rate(value.base, tuple((tier.start, tier.price) for tier in value.tiers))
    return Rate(value) if isinstance(value, Decimal) else missing


def _unknown(entry: ModelEntry) -> ModelNotConfigured:
    return ModelNotConfigured(
        f"model {entry.name} has no known price",
        why=f"the price list has no {entry.model!r} of {entry.provider!r}; a call's worst cost must be known before it",
        then="Set its prices in US dollars a million tokens, input and output; 0 for a model that costs nothing",
    )


def _up(micros: Decimal) -> int:
    return int(micros.to_integral_value(ROUND_CEILING))
