"""The arithmetic domain: supply, items, verifier, notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.domains.arith import FAMILIES, Arith
from everloop.domains.base import Item
from everloop.errors import InvalidRequest

ARITH = Arith()
families = st.sampled_from(ARITH.families())


def crosses(sign: str, a: int, b: int) -> bool:
    """Reference: carry or borrow anywhere, by schoolbook columns."""
    over = 0
    seen = False
    while a or b:
        x, y = a % 10, b % 10
        over = int(x + y + over > 9) if sign == "+" else int(x - y - over < 0)
        seen = seen or bool(over)
        a, b = a // 10, b // 10
    return seen


@pytest.mark.parametrize("family", [name for name in FAMILIES if "3" in name])
def test_supply_of_three_digit_families_is_exact_and_items_are_distinct(family: str) -> None:
    sign = FAMILIES[family].sign
    first, second = range(100, 1000), range(100, 1000)
    pairs = [(a, b) for a in first for b in second if sign == "+" or a >= b]
    wanted = sum(crosses(sign, a, b) == FAMILIES[family].crossing for a, b in pairs)
    prompts = {item.prompt for i in range(ARITH.size(family)) if (item := ARITH.item(family, i))}
    assert len(prompts) == ARITH.supply(family) == wanted


def test_every_family_has_a_hundred_thousand_items_and_the_documented_supply() -> None:
    supply = {family: ARITH.supply(family) for family in ARITH.families()}
    assert supply == {
        "add3_nocarry": 108_900,
        "add3_carry": 701_100,
        "add4_nocarry": 5_989_500,
        "add4_carry": 75_010_500,
        "sub3_noborrow": 136_125,
        "sub3_borrow": 269_325,
        "sub4_noborrow": 7_486_875,
        "sub4_borrow": 33_017_625,
    }


@given(families, st.data())
def test_an_item_belongs_to_its_family_and_its_answer_is_right(family: str, data: st.DataObject) -> None:
    item = ARITH.item(family, data.draw(st.integers(0, ARITH.size(family) - 1)))
    kind = FAMILIES[family]
    if item is None:
        assert kind.crossing
        return
    a, b = (int(part) for part in item.prompt.rstrip("=").split(kind.sign))
    assert crosses(kind.sign, a, b) == kind.crossing
    assert len(str(a)) == len(str(b)) == kind.digits
    assert int(item.answer) == (a + b if kind.sign == "+" else a - b) >= 0
    assert ARITH.verify(item, item.answer) and ARITH.well_formed(item, item.answer)


@given(st.text(max_size=8))
def test_only_the_exact_text_is_right(answer: str) -> None:
    item = Item("add3_nocarry", "120+235=", "355")
    assert ARITH.verify(item, answer) == (answer == "355")


@pytest.mark.parametrize(
    "answer", ["", "{}", "I cannot help with that.", "085", "85 ", "+85", "85.0", "-85", "８５", "85\n"]
)
def test_refusals_and_other_forms_are_wrong_and_ill_formed(answer: str) -> None:
    item = Item("sub3_noborrow", "185-100=", "85")
    assert not ARITH.verify(item, answer)
    assert not ARITH.well_formed(item, answer)


def test_a_wrong_number_is_well_formed() -> None:
    item = Item("sub3_noborrow", "185-100=", "85")
    assert ARITH.well_formed(item, "84") and ARITH.well_formed(item, "0")


def test_a_note_names_the_digit_and_the_carry() -> None:
    item = Item("add3_carry", "158+267=", "425")
    assert "tens digit" in ARITH.note(item, "415") and "needs the carry" in ARITH.note(item, "415")
    assert "ones digit" in ARITH.note(item, "424") and "no carry" in ARITH.note(item, "424")
    assert "whole number" in ARITH.note(item, "{}")


def test_unknown_families_and_indices_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="unknown family"):
        ARITH.supply("mul1")
    for index in (-1, ARITH.size("add3_carry")):
        with pytest.raises(InvalidRequest):
            ARITH.item("add3_carry", index)
