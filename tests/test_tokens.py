"""Tokens: what they tell, and what matches them."""

from __future__ import annotations

import pytest

from everloop.tokens import API, GATEWAY, LINK, SESSION, digest, matches, mint, prefix_of


@pytest.mark.parametrize("mark", [API, GATEWAY, LINK, SESSION])
def test_a_token_tells_its_prefix_and_what_it_is(mark: str) -> None:
    made = mint(mark)
    assert made.key.startswith(f"{mark}_{made.prefix}_")
    assert prefix_of(made.key, mark) == made.prefix == prefix_of(f"{mark}_{made.prefix}", mark)


def test_a_token_is_none_of_another_kind() -> None:
    assert prefix_of(mint(API).key, GATEWAY) == ""


def test_no_two_tokens_are_alike() -> None:
    made = [mint(API) for _ in range(100)]
    assert len({one.key for one in made}) == len({one.prefix for one in made}) == 100


def test_only_the_token_itself_matches() -> None:
    one, other = mint(API), mint(API)
    assert matches(one.key, one.hash)
    assert not matches(other.key, one.hash)
    assert not matches(one.key + "x", one.hash)
    assert not matches(one.key, None)


def test_nothing_matches_where_there_is_no_token() -> None:
    assert not matches("", None)
    assert digest("") != "0" * 64


def test_half_a_character_is_no_reason_to_fail() -> None:
    assert not matches("elk_1_\udc80", mint(API).hash)


def test_a_token_does_not_show_itself() -> None:
    made = mint(API)
    assert made.key not in repr(made)


def test_other_text_has_no_prefix() -> None:
    assert [prefix_of(text, API) for text in ("", "elk", "sk_1_2", "abc")] == [""] * 4
