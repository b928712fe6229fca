"""Sums of two small numbers, written as a person writes them: a domain for language models that are only asked.

Supply, exact (a round number is below 10 or a multiple of ten; both orders count):

- `easy`: two numbers of 1..99, at least one of them round: 99**2 - 81**2 = 3,240;
- `plain`: two numbers that are not round, one of 11..99 and one of 11..199, no column carries: 36 pairs of last digits
  times 36 pairs of tens below 100, and 45 for each order where one number is above 99: 36 * (36 + 2 * 45) = 4,536;
- `carry`: two numbers of 11..99 that are not round, a column carries: 81**2 - 36**2 = 5,265.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from everloop.domains.base import Item, Verifier
from everloop.errors import InvalidRequest

MOST = 199
"""Largest number in a task."""

_NUMBER = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def _carries(a: int, b: int) -> bool:
    """Whether any column of a + b carries; the first carry needs none to come in."""
    return a % 10 + b % 10 > 9 or a // 10 % 10 + b // 10 % 10 > 9


def _round(number: int) -> bool:
    return number < 10 or not number % 10


def _easy(a: int, b: int) -> bool:
    return max(a, b) < 100 and (_round(a) or _round(b))


def _plain(a: int, b: int) -> bool:
    return min(a, b) < 100 and not (_round(a) or _round(b) or _carries(a, b))


def _carry(a: int, b: int) -> bool:
    return max(a, b) < 100 and not (_round(a) or _round(b)) and _carries(a, b)


_RULES: dict[str, Callable[[int, int], bool]] = {"easy": _easy, "plain": _plain, "carry": _carry}


class Sums:
    """Three families; no starter rows, because nothing is trained on it."""

    name = "sums"
    judge = ("sums-exact", "1")
    verifier = Verifier.HARD

    def families(self) -> tuple[str, ...]:
        """``easy``, ``plain``, ``carry``."""
        return tuple(_RULES)

    def size(self, family: str) -> int:
        """Number of indices; each holds an item."""
        return len(_pairs(family))

    def supply(self, family: str) -> int:
        """Number of distinct items, exact (see the module's table)."""
        return len(_pairs(family))

    def item(self, family: str, index: int) -> Item | None:
        """The item at an index, such as ``47 + 38``. InvalidRequest for an index out of range."""
        pairs = _pairs(family)
        if not 0 <= index < len(pairs):
            raise InvalidRequest(f"family {family} has no index {index}")
        a, b = pairs[index]
        return Item(family, f"{a} + {b}", str(a + b))

    def starter_rows(self, family: str) -> int:
        """None: the student is a model that exists."""
        _pairs(family)
        return 0

    def verify(self, item: Item, answer: str) -> bool:
        """Whether the answer is the number, to the character: ``085`` is not ``85``."""
        return answer == item.answer

    def well_formed(self, item: Item, answer: str) -> bool:  # noqa: ARG002 - the form does not depend on the item
        """Whether the answer is a non-negative whole number without leading zeros."""
        return _NUMBER.fullmatch(answer) is not None

    def note(self, item: Item, answer: str) -> str:
        """How far the answer is off, and in which digits."""
        if not self.well_formed(item, answer):
            return "the answer must be a whole number and nothing else"
        if self.verify(item, answer):
            return "the answer is right"
        off = int(answer) - int(item.answer) if len(answer) <= 9 else None
        how = "far too large" if off is None else f"too {'large' if off > 0 else 'small'} by {abs(off)}"
        right = "right" if answer[-1] == item.answer[-1] else "wrong"
        return f"{item.prompt} is {item.answer}; the answer is {how}, its last digit is {right}"


@cache
def _pairs(family: str) -> tuple[tuple[int, int], ...]:
    """Every pair of numbers of a family, in order. InvalidRequest for a family that does not exist."""
    if family not in _RULES:
        raise InvalidRequest(f"unknown family {family!r}", why=f"known: {', '.join(_RULES)}")
    fits = _RULES[family]
    return tuple((a, b) for a in range(1, MOST + 1) for b in range(1, MOST + 1) if fits(a, b))
