from __future__ import annotations

from everloop.gateway.serving.keys import digest, matches, mint, prefix_of


def test_a_key_tells_its_prefix_and_what_it_is() -> None:
    made = mint()
    assert made.key.startswith(f"elg_{made.prefix}_")
    assert prefix_of(made.key) == made.prefix == prefix_of(f"elg_{made.prefix}")


def test_no_two_keys_are_alike() -> None:
    made = [mint() for _ in range(100)]
    assert len({one.key for one in made}) == len({one.prefix for one in made}) == 100


def test_only_the_key_itself_matches() -> None:
    one, other = mint(), mint()
    assert matches(one.key, one.hash)
    assert not matches(other.key, one.hash)
    assert not matches(one.key + "x", one.hash)
    assert not matches(one.key, None)


def test_nothing_matches_where_there_is_no_key(monkeypatch: object) -> None:
    assert not matches("", None)
    assert digest("") != "0" * 64


def test_a_key_does_not_show_itself() -> None:
    made = mint()
    assert made.key not in repr(made)


def test_other_text_has_no_prefix() -> None:
    assert [prefix_of(text) for text in ("", "elg", "sk_1_2", "abc")] == [""] * 4
