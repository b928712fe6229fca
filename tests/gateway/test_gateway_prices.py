"""Prices: the owner's win, the list's cover caches and long prompts, and amounts are rounded up."""

from __future__ import annotations

from decimal import Decimal
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.usage import RequestUsage

from everloop.errors import ModelNotConfigured
from everloop.gateway.base import ModelEntry
from everloop.gateway.prices import price_of

SONNET = ModelEntry(name="s", provider="anthropic", model="claude-sonnet-4-5")
MINI = ModelEntry(name="g", provider="openai", model="gpt-4o-mini")


def owned(income: float | None, outcome: float | None, model: str = "x") -> ModelEntry:
    return ModelEntry(name="m", provider="openai", model=model, input_usd_per_mtok=income, output_usd_per_mtok=outcome)


def test_listed_price_is_found_offline() -> None:
    price = price_of(MINI)
    assert (price.source, price.input.base, price.output.base) == ("list", Decimal("0.15"), Decimal("0.6"))
    assert price.cost(RequestUsage(input_tokens=100, output_tokens=50)) == 45


def test_owners_price_wins() -> None:
    price = price_of(owned(2.0, 3.0, "gpt-4o-mini"))
    assert price.source == "owner"
    assert price.cost(RequestUsage(input_tokens=10, output_tokens=10)) == 50


def test_half_an_owners_price_is_completed_by_the_list() -> None:
    price = price_of(owned(None, 3.0, "gpt-4o-mini"))
    assert (price.source, price.input.base, price.output.base) == ("owner and list", Decimal("0.15"), Decimal("3.0"))


@pytest.mark.parametrize("entry", [owned(None, None), owned(1.0, None), owned(None, 1.0)])
def test_unknown_price_is_refused(entry: ModelEntry) -> None:
    with pytest.raises(ModelNotConfigured, match="no known price"):
        price_of(entry)


@pytest.mark.parametrize("usd", [-1.0, float("nan"), float("inf")])
def test_price_that_is_none_is_refused(usd: float) -> None:
    with pytest.raises(ModelNotConfigured):
        price_of(owned(usd, 1.0))


def test_cached_tokens_have_their_rates() -> None:
    usage = RequestUsage(
        input_tokens=1000, cache_read_tokens=300, cache_write_tokens=400, cache_write_1h_tokens=100, output_tokens=10
    )
    assert price_of(SONNET).cost(usage) == ceil(300 * 3 + 300 * 0.3 + 300 * 3.75 + 100 * 6 + 10 * 15)


def test_long_prompt_has_the_higher_rate() -> None:
    assert price_of(SONNET).cost(RequestUsage(input_tokens=200_001, output_tokens=10)) == 200_001 * 6 + 225


def test_worst_input_is_the_dearest_kind() -> None:
    assert price_of(SONNET).worst(10, 10) == 10 * 12 + 225


MISSING = [RequestUsage(), RequestUsage(output_tokens=5), RequestUsage(input_tokens=5, unmeasured_requests=1)]


@pytest.mark.parametrize("usage", MISSING)
def test_missing_usage_has_no_cost(usage: RequestUsage) -> None:
    assert price_of(MINI).cost(usage) is None


def test_cost_is_rounded_up_to_a_micro_dollar_and_not_past_it() -> None:
    price = price_of(owned(0.15, 0.0))
    assert price.cost(RequestUsage(input_tokens=1)) == 1
    assert price.cost(RequestUsage(input_tokens=100)) == 15


@given(st.integers(1, 10**6), st.integers(0, 10**5), st.floats(0, 1), st.floats(0, 1), st.sampled_from([SONNET, MINI]))
def test_cost_is_never_above_the_worst(income: int, outcome: int, read: float, write: float, entry: ModelEntry) -> None:
    cached = int(income * read)
    usage = RequestUsage(
        input_tokens=income,
        output_tokens=outcome,
        cache_read_tokens=cached,
        cache_write_tokens=int((income - cached) * write),
    )
    price = price_of(entry)
    cost = price.cost(usage)
    assert cost is not None
    assert 0 < cost <= price.worst(income, outcome)
