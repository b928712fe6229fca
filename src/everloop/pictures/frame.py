"""The frame of every picture: the svg element for a page, its words for who does not see it, its legend."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from everloop.pictures.elements import element, plain, words

LEFT, RIGHT = 56, 20
"""Pixels left and right of the drawing, for labels; the stylesheet keeps them free."""
NARROW = 290
"""Pixels that a legend may take up at the narrowest."""
ROW = 20
"""Pixels between two lines of a legend."""


def framed(name: str, title: str, told: str, height: float, body: Sequence[str]) -> str:
    """The svg element for a page: as wide as its place, `height` pixels high."""
    ids = f"picture-{name}-title", f"picture-{name}-told"
    return element(
        "svg",
        element("title", plain(title), id=ids[0]),
        element("desc", plain(told), id=ids[1]),
        *body,
        class_="drawing",
        width="100%",
        height=height,
        role="img",
        aria_labelledby=ids[0],
        aria_describedby=ids[1],
    )


def legend(entries: Sequence[tuple[str, str]]) -> tuple[list[str], float]:
    """Marks with their meaning in as many lines as a narrow page needs, and the pixels they take.

    An entry is a mark drawn around the point 0, 0 (at most 9 pixels each way) and what it stands for.
    """
    drawn: list[str] = []
    x, row = 0.0, 0
    for mark, text in entries:
        wide = 30 + measured(text)
        if x and x + wide > NARROW:
            x, row = 0.0, row + 1
        place, y = x - LEFT + 15, 14 + row * ROW
        drawn.append(element("svg", mark, x=place, y=y - 4, overflow="visible", class_="at"))
        drawn.append(words(text, place + 14, y, "quiet"))
        x += wide + 14
    return drawn, (row + 1) * ROW if entries else 0


def measured(text: str) -> float:
    """About how many pixels a text takes; a little too many rather than too few."""
    return sum(12.5 if east_asian_width(sign) in "WF" else 6.8 for sign in text)
