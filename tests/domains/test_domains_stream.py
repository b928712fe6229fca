"""Streams: nothing twice, sets never overlap, every prefix balanced, an end that is an error."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.domains.arith import Arith
from everloop.domains.base import Item, Verifier
from everloop.domains.permutation import Permutation
from everloop.domains.registry import domain
from everloop.domains.stream import Stream
from everloop.domains.synthetic import Synthetic
from everloop.errors import InvalidRequest, SupplyExhausted
from everloop.evidence.sets import set_of

SETS = ("train", "diag", "dev", "certify", "blind", "calib")


class Small(Synthetic):
    """The synthetic domain cut to 400 items a family."""

    name = "small"

    def size(self, family: str) -> int:
        return 400 if family else 0


@given(st.integers(1, 3000), st.text(max_size=5))
def test_a_permutation_reaches_every_index_once(size: int, key: str) -> None:
    assert sorted(Permutation(size, key).indices(0, size + 3)) == list(range(size))


@given(st.integers(1, 1 << 62), st.integers(0, 1000))
def test_a_permutation_stays_inside_any_size_and_reads_the_same_from_anywhere(size: int, start: int) -> None:
    order = Permutation(size, "key")
    whole = order.indices(0, 1064)
    assert order.indices(start, start + 64) == whole[start : start + 64]
    assert len(set(whole)) == len(whole) and all(0 <= index < size for index in whole)


def test_neighbours_in_the_order_are_unrelated() -> None:
    size = 1 << 40
    at = Permutation(size, "key").indices(0, 4096)
    quarters = Counter((index * 4 // size, after * 4 // size) for index, after in pairwise(at))
    assert len(quarters) == 16 and min(quarters.values()) > 170 and max(quarters.values()) < 350


def test_nothing_is_drawn_twice_over_many_draws_and_sets_never_overlap() -> None:
    stream, seen = Stream(Arith(), 7), Counter[str]()
    for set_name in SETS:
        cursors: dict[str, int] = {}
        for _ in range(6):
            items, cursors = stream.draw_balanced(set_name, 97, cursors)
            seen.update(item.content_hash for item in items)
            assert {set_of(item.content_hash) for item in items} == {set_name}
    assert len(seen) == 6 * 6 * 97 and max(seen.values()) == 1


def test_another_seed_is_another_order_with_the_same_owners() -> None:
    one, _ = Stream(Arith(), 1).draw_balanced("dev", 80, {})
    other, _ = Stream(Arith(), 2).draw_balanced("dev", 80, {})
    again, _ = Stream(Arith(), 1).draw_balanced("dev", 80, {})
    assert one == again and one != other
    assert all(set_of(item.content_hash) == "dev" for item in other)


@given(st.integers(0, 60), st.integers(0, 60))
def test_two_draws_are_one_longer_draw(first: int, second: int) -> None:
    stream = Stream(Arith(), 3)
    one, cursor = stream.draw("sub3_borrow", "certify", first)
    two, end = stream.draw("sub3_borrow", "certify", second, cursor)
    assert stream.draw("sub3_borrow", "certify", first + second) == (one + two, end)


@given(st.integers(0, 40))
def test_every_prefix_is_balanced(n: int) -> None:
    items, cursors = Stream(Synthetic(), 5).draw_balanced("diag", n, {})
    assert len(items) == n and set(cursors) == set(Synthetic().families())
    for end in range(n + 1):
        counts = Counter(item.family for item in items[:end])
        most = max((counts[family] for family in Synthetic().families()), default=0)
        assert most - min(counts[family] for family in Synthetic().families()) <= 1


def test_an_exhausted_family_is_an_error_that_says_so() -> None:
    stream = Stream(Small(), 1)
    indices = [Small().item("s1", i) for i in range(400)]
    owned = [item for item in indices if set_of(item.content_hash) == "train"]
    items, cursor = stream.draw("s1", "train", len(owned))
    assert set(items) == set(owned)
    with pytest.raises(SupplyExhausted, match="no more items of the set train"):
        stream.draw("s1", "train", 1, cursor)
    assert stream.draw("s1", "train", 0, cursor) == ((), cursor)


def test_domains_are_found_by_name() -> None:
    assert domain("arith").name == "arith" and domain("synthetic").verifier is Verifier.HARD
    with pytest.raises(InvalidRequest, match="known: arith"):
        domain("astrology")


def test_synthetic_items_carry_their_family_and_a_checkable_answer() -> None:
    synthetic = Synthetic()
    item = synthetic.item("s2", 123456)
    assert item == Item("s2", "s2:123456", item.answer) and synthetic.verify(item, item.answer)
    assert not any(synthetic.verify(item, wrong) for wrong in ("", "{}", "no", f"{item.answer} "))
    assert synthetic.well_formed(item, "000000") and not synthetic.well_formed(item, "{}")
    assert "s2" in synthetic.note(item, "000000")
    with pytest.raises(InvalidRequest):
        synthetic.item("s9", 0)
