"""SVG elements as text. Places across are shares of the width, so that a picture fits any width and its words keep
their size; places down are pixels. Nothing here carries a style attribute: colours come from classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise

from everloop import fields

Value = str | float | None
"""An attribute; None leaves it out."""

WIDE = 1000
"""Units across of a stretched layer."""


def plain(text: str) -> str:
    """A text as markup, without what cannot be printed, such as marks that turn the direction of what follows."""
    return escape(fields.line(text))


def element(name: str, *inside: str, **attributes: Value) -> str:
    """An element; an underscore in an attribute's name stands for a hyphen, one at the end is dropped.

    Attributes are escaped, `inside` is markup already.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None and value != "")
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def _attribute(key: str, value: Value) -> str:
    name = key if key in {"viewBox", "preserveAspectRatio", "patternUnits"} else key.rstrip("_").replace("_", "-")
    return f' {name}="{plain(value) if isinstance(value, str) else short(value or 0.0)}"'


def short(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def across(share: float) -> str:
    """A place as a share of the width, kept on the page."""
    return f"{100 * min(1.0, max(0.0, share)):.2f}".rstrip("0").rstrip(".") + "%"


def group(told: str, *inside: str) -> str:
    """Marks that belong together; `told` appears when a pointer rests on them."""
    return element("g", element("title", plain(told)), *inside)


def words(text: str, x: str | float, y: float, kind: str = "ink", anchor: str = "", dx: float | None = None) -> str:
    """A line of text; `dx` moves it by pixels."""
    return element("text", plain(text), class_=kind, x=x, y=y, dx=dx, text_anchor=anchor)


def line(kind: str, x1: str, y1: float, x2: str, y2: float) -> str:
    """A straight line."""
    return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)


def at(x: str, y: float, *inside: str) -> str:
    """Marks drawn in pixels around a place."""
    return element("svg", *inside, x=x, y=y, overflow="visible", class_="at")


def dot(kind: str, x: str, y: float, size: float = 5) -> str:
    """A circle."""
    return element("circle", class_=kind, cx=x, cy=y, r=size)


def diamond(kind: str, x: str, y: float) -> str:
    """A square on its corner."""
    return at(x, y, element("path", class_=kind, d="M0-5.5L5.5 0 0 5.5-5.5 0Z"))


def cross(kind: str, x: str, y: float) -> str:
    """Two strokes crossing."""
    return at(x, y, element("path", class_=kind, d="M-5-5L5 5M-5 5L5-5"))


def square(kind: str, x: str, y: float) -> str:
    """A square."""
    return at(x, y, element("path", class_=kind, d="M-5-5H5V5H-5Z"))


def stretched(height: float, *inside: str) -> str:
    """A layer of `WIDE` units across that is stretched to the width; lines in it keep their thickness."""
    if not "".join(inside):
        return ""
    box = f"0 0 {WIDE} {short(height)}"
    return element(
        "svg",
        *inside,
        class_="at",
        width="100%",
        height=height,
        viewBox=box,
        preserveAspectRatio="none",
        overflow="visible",
    )


def path(kind: str, d: str) -> str:
    """A path of a stretched layer; nothing when there is nothing to draw."""
    return element("path", class_=kind, d=d, vector_effect="non-scaling-stroke") if d else ""


def joined(points: Sequence[tuple[float, float] | None]) -> str:
    """The path through points (share across, pixels down); None breaks it, and a point without neighbours is a dot.

    Points that fall together are one. Steps from point to point are short texts, and alike ones pack well.
    """
    drawn: list[str] = []
    for known, some in groupby(points, key=lambda point: point is not None):
        places = [place for place, _ in groupby((round(one[0] * WIDE), round(10 * one[1])) for one in some if one)]
        if known:
            first, *_ = places
            steps = [f"{x - x0} {short((y - y0) / 10)}" for (x0, y0), (x, y) in pairwise(places)]
            drawn.append(f"M{first[0]} {short(first[1] / 10)}" + ("l" + " ".join(steps) if steps else "h0"))
    return "".join(drawn)


def upright_strokes(lines: Sequence[tuple[float, float, float]]) -> str:
    """The path of upright lines (share across, pixels down of both ends); one without length is a dot."""
    drawn: list[str] = []
    pen = (0, 0)
    for share, begin, end in lines:
        x, y, down = round(share * WIDE * 10), round(10 * begin), round(10 * end)
        move = f"{short((x - pen[0]) / 10)} {short((y - pen[1]) / 10)}"
        drawn.append(f"m{move}" + (f"v{short((down - y) / 10)}" if down != y else "h0"))
        pen = (x, down)
    return "".join(drawn)
