"""The domain of small sums: supply, items, verifier, notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.domains.base import Item
from everloop.domains.sums import Sums
from everloop.errors import InvalidRequest
from everloop.evidence.sets import check_supply

SUMS = Sums()
families = st.sampled_from(SUMS.families())


def operands(item: Item) -> tuple[int, int]:
    a, b = item.prompt.split(" + ")
    return int(a), int(b)


def test_supply_is_exact_and_no_prompt_is_in_two_places() -> None:
    prompts = [item.prompt for name in SUMS.families() for i in range(SUMS.size(name)) if (item := SUMS.item(name, i))]
    assert {name: SUMS.supply(name) for name in SUMS.families()} == {"easy": 3240, "plain": 4536, "carry": 5265}
    assert len(set(prompts)) == len(prompts) == 3240 + 4536 + 5265


@given(families, st.data())
def test_an_item_belongs_to_its_family_and_its_answer_is_right(family: str, data: st.DataObject) -> None:
    item = SUMS.item(family, data.draw(st.integers(0, SUMS.size(family) - 1)))
    assert item is not None and item.family == family
    a, b = operands(item)
    round_one = any(one < 10 or one % 10 == 0 for one in (a, b))
    # schoolbook: the digits of a sum add up to those of its parts, less nine for every carry
    digits = sum(int(digit) for number in (a, b) for digit in str(number))
    carries = digits != sum(int(digit) for digit in str(a + b))
    assert round_one == (family == "easy")
    assert family == "easy" or carries == (family == "carry")
    assert item.answer == str(a + b)
    assert SUMS.verify(item, item.answer) and SUMS.well_formed(item, item.answer)


@given(st.text(max_size=6))
def test_only_the_exact_text_is_right(answer: str) -> None:
    assert SUMS.verify(Item("carry", "47 + 38", "85"), answer) == (answer == "85")


@pytest.mark.parametrize("answer", ["", "{}", "I cannot help.", "085", "85 ", "+85", "85.0", "-85", "８５", "85\n"])
def test_refusals_and_other_forms_are_wrong_and_ill_formed(answer: str) -> None:
    item = Item("carry", "47 + 38", "85")
    assert not SUMS.verify(item, answer) and not SUMS.well_formed(item, answer)


def test_a_note_tells_how_far_an_answer_is_off() -> None:
    item = Item("carry", "47 + 38", "85")
    assert "too small by 10, its last digit is right" in SUMS.note(item, "75")
    assert "too large by 1, its last digit is wrong" in SUMS.note(item, "86")
    assert "far too large" in SUMS.note(item, "9" * 40)
    assert "whole number" in SUMS.note(item, "{}")


def test_the_supply_carries_three_rounds_of_a_small_dry_run_and_more() -> None:
    needs = {"diag": 3 * 12 + 3 * 8, "dev": 4 * 40, "certify": 4 * 100, "blind": 50, "calib": 34}
    supply = {name: SUMS.supply(name) for name in SUMS.families()}
    check_supply(needs, supply)
    check_supply({name: round(1.15 * need) for name, need in needs.items()}, supply)


def test_unknown_families_and_indices_are_refused() -> None:
    for refused in (SUMS.supply, SUMS.size, SUMS.starter_rows):
        with pytest.raises(InvalidRequest, match="unknown family"):
            refused("products")
    for index in (-1, SUMS.size("easy")):
        with pytest.raises(InvalidRequest, match="no index"):
            SUMS.item("easy", index)
