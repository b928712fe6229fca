"""Exact addition and subtraction of 3- and 4-digit numbers, sorted by whether a digit carries or borrows.

Supply, exact (n digits, no leading zero; a column is a pair of digits):

- no carry: 36 leading columns and 55 others, so 36 * 55**(n-1): 108,900 and 5,989,500;
- carry: all (9 * 10**(n-1))**2 pairs less the former: 701,100 and 75,010,500;
- no borrow: 45 leading columns and 55 others, so 45 * 55**(n-1): 136,125 and 7,486,875;
- borrow: all pairs with a >= b less the former: 269,325 and 33,017,625.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt

from everloop.domains.base import Item, Verifier
from everloop.errors import InvalidRequest

_NUMBER = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_PROMPT = re.compile(r"(\d+)([+-])(\d+)=", re.ASCII)
_PLACES = ("ones", "tens", "hundreds", "thousands", "ten thousands")
_SUMS = tuple((a, b) for a in range(10) for b in range(10 - a))
_DIFFERENCES = tuple((a, b) for a in range(10) for b in range(a + 1))


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of task."""

    sign: str
    """``+`` or ``-``."""
    digits: int
    """Digits of both operands."""
    crossing: bool
    """Whether at least one column carries or borrows; else none does."""

    @property
    def columns(self) -> tuple[tuple[int, int], ...]:
        """Digit pairs that neither carry nor borrow."""
        return _SUMS if self.sign == "+" else _DIFFERENCES

    @property
    def leading(self) -> tuple[tuple[int, int], ...]:
        """Those of `columns` without a zero: both numbers begin with such a pair."""
        return tuple((a, b) for a, b in self.columns if a and b)

    @property
    def plain(self) -> int:
        """Number of operand pairs that neither carry nor borrow."""
        return len(self.leading) * int(len(self.columns) ** (self.digits - 1))

    @property
    def all(self) -> int:
        """Number of operand pairs: any two for a sum, a >= b for a difference."""
        numbers = 9 * int(10 ** (self.digits - 1))
        return numbers * numbers if self.sign == "+" else numbers * (numbers + 1) // 2

    @property
    def size(self) -> int:
        """Number of indices."""
        return self.all if self.crossing else self.plain

    @property
    def supply(self) -> int:
        """Number of distinct items."""
        return self.all - self.plain if self.crossing else self.plain


class _Builder:
    """Makes the operands at an index of one family; its tables are built once because a draw asks millions of times."""

    def __init__(self, family: Family) -> None:
        self._family, self._columns, self._leading = family, family.columns, family.leading
        self._numbers, self._low = 9 * 10 ** (family.digits - 1), 10 ** (family.digits - 1)
        self.size, self.plus = family.size, family.sign == "+"

    def operands(self, index: int) -> tuple[int, int] | None:
        if self._family.crossing:
            return self._crossing(index)
        a, b, weight, columns = 0, 0, 1, self._columns
        for _ in range(self._family.digits - 1):
            index, at = divmod(index, len(columns))
            one, other = columns[at]
            a, b, weight = a + one * weight, b + other * weight, weight * 10
        one, other = self._leading[index]
        return a + one * weight, b + other * weight

    def _crossing(self, index: int) -> tuple[int, int] | None:
        """Any pair of operands; None where no column carries or borrows."""
        if self.plus:
            a, b = divmod(index, self._numbers)
            a, b = a + self._low, b + self._low
            return (a, b) if _carries(a, b) else None
        a = (isqrt(8 * index + 1) - 1) // 2
        b = index - a * (a + 1) // 2
        a, b = a + self._low, b + self._low
        return (a, b) if _carries(b, a - b) else None


def _carries(a: int, b: int) -> bool:
    """Whether a + b carries anywhere (then (a + b) - a borrows there); the first carry needs none to come in."""
    while a and b:
        if a % 10 + b % 10 > 9:
            return True
        a, b = a // 10, b // 10
    return False


FAMILIES = {
    f"{word}{digits}_{'' if crossing else 'no'}{what}": Family(sign, digits, crossing)
    for word, sign, what in (("add", "+", "carry"), ("sub", "-", "borrow"))
    for digits in (3, 4)
    for crossing in (False, True)
}


class Arith:
    """Eight families; the base version is trained on many rows of the plain ones and few of the crossing ones."""

    name = "arith"
    judge = ("arith-exact", "1")
    verifier = Verifier.HARD

    def __init__(self) -> None:
        self._builders = {name: _Builder(family) for name, family in FAMILIES.items()}

    def families(self) -> tuple[str, ...]:
        """``add3_nocarry`` ... ``sub4_borrow``."""
        return tuple(FAMILIES)

    def size(self, family: str) -> int:
        """Number of indices: the exact supply of a plain family, all operand pairs of a crossing one."""
        return _family(family).size

    def supply(self, family: str) -> int:
        """Number of distinct items, exact (see the module's table)."""
        return _family(family).supply

    def item(self, family: str, index: int) -> Item | None:
        """The item at an index: digits are composed directly, so plain families have no holes."""
        builder = self._builders.get(family)
        if builder is None or not 0 <= index < builder.size:
            raise InvalidRequest(f"family {family} has no index {index}")
        pair = builder.operands(index)
        if pair is None:
            return None
        a, b = pair
        if builder.plus:
            return Item(family, f"{a}+{b}=", str(a + b))
        return Item(family, f"{a}-{b}=", str(a - b))

    def starter_rows(self, family: str) -> int:
        """1,500 rows of a plain family, 150 of a crossing one."""
        return 150 if _family(family).crossing else 1500

    def verify(self, item: Item, answer: str) -> bool:
        """Whether the answer is the number, to the character: ``085`` is not ``85``."""
        return answer == item.answer

    def well_formed(self, item: Item, answer: str) -> bool:  # noqa: ARG002 - the form does not depend on the item
        """Whether the answer is a non-negative whole number without leading zeros."""
        return _NUMBER.fullmatch(answer) is not None

    def note(self, item: Item, answer: str) -> str:
        """Which digit went wrong first, from the right, and what the column needed."""
        parts = _PROMPT.fullmatch(item.prompt)
        if parts is None or not self.well_formed(item, answer):
            return "the answer must be a whole number and nothing else"
        if self.verify(item, answer):
            return "the answer is right"
        place = _first_difference(item.answer, answer)
        a, sign, b = int(parts[1]), parts[2], int(parts[3])
        what = "carry" if sign == "+" else "borrow"
        into = _crosses_into(a, b, sign, place)
        why = f"it needs the {what} of the column to its right" if into else f"no {what} comes into it"
        return f"the {_place(place)} digit is wrong: {why}; practise {item.family}"


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise InvalidRequest(f"unknown family {name!r}", why=f"known: {', '.join(FAMILIES)}")
    return FAMILIES[name]


def _first_difference(right: str, wrong: str) -> int:
    width = max(len(right), len(wrong))
    pairs = zip(reversed(right.zfill(width)), reversed(wrong.zfill(width)), strict=True)
    return next(place for place, (one, other) in enumerate(pairs) if one != other)


def _crosses_into(a: int, b: int, sign: str, place: int) -> bool:
    """Whether a carry or borrow comes into the column at a place (0: ones)."""
    modulus = int(10**place)
    return a % modulus + b % modulus >= modulus if sign == "+" else a % modulus < b % modulus


def _place(place: int) -> str:
    return _PLACES[place] if place < len(_PLACES) else f"10^{place}"
