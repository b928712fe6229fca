"""A picture as a document of its own, for download and for pages outside the console."""

from __future__ import annotations

import re

from everloop.pictures.elements import element, plain, words
from everloop.pictures.frame import LEFT, RIGHT, measured
from everloop.pictures.picture import Picture
from everloop.pictures.style import PALETTE, RULES

WIDTH = 760
"""Pixels of the document's width."""
EDGE = 14
"""Pixels left free at both sides."""
_HEIGHT = re.compile(r'height="([0-9.]+)"')


def standalone(picture: Picture) -> str:
    """An SVG document with heading, caption and colours for light, dark and paper; says so when nothing is drawn."""
    lines = _broken(picture.caption or picture.told, WIDTH - 48)
    top = 50 + 18 * len(lines)
    found = _HEIGHT.search(picture.svg)
    high = top + (float(found.group(1)) if found else 0) + 16
    head = [words(picture.title, 24, 34, "ink title"), words(picture.run, WIDTH - 24, 34, "quiet", "end")]
    head += [words(text, 24, 56 + 18 * row, "quiet") for row, text in enumerate(lines)]
    # the picture's own places are shares of the width, so it needs a frame without the room for its labels
    frame = element(
        "svg", _body(picture.svg), x=LEFT + EDGE, y=top, width=WIDTH - LEFT - RIGHT - 2 * EDGE, overflow="visible"
    )
    ids = f"picture-{picture.name}-title", f"picture-{picture.name}-told"
    document = element(
        "svg",
        "" if found else element("title", plain(picture.title), id=ids[0]),
        "" if found else element("desc", plain(picture.told), id=ids[1]),
        element("style", _STYLE),
        element("rect", class_="paper", width=WIDTH, height=high, rx=6),
        *head,
        frame if found else "",
        xmlns="http://www.w3.org/2000/svg",
        class_="drawing",
        viewBox=f"0 0 {WIDTH} {high:.0f}",
        width=WIDTH,
        height=round(high),
        role="img",
        aria_labelledby=ids[0],
        aria_describedby=ids[1],
    )
    return document + "\n"


_STYLE = (
    PALETTE
    + RULES
    + """\
.drawing { padding: 0; width: auto; }
.drawing .drawing { padding: 0; }
.drawing .paper { fill: var(--raised); }
.drawing .title { font-size: 17px; font-weight: 600; }
.drawing .from-middle, .drawing .from-wide { display: inline; }
"""
)


def _body(svg: str) -> str:
    """The picture without a role of its own: the document has it."""
    return re.sub(r' (role|aria-labelledby|aria-describedby)="[^"]*"', "", svg, count=3)


def _broken(text: str, wide: float) -> list[str]:
    """A text in lines of at most `wide` pixels, three at most; Chinese breaks anywhere, others at blanks."""
    lines, line = [], ""
    for piece in re.findall(r"[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+", text):
        if line and measured(line + piece.rstrip()) > wide:
            lines.append(line.rstrip())
            line = ""
        line += piece
    lines.append(line.rstrip())
    lines = [one for one in lines if one]
    return lines if len(lines) <= 3 else [*lines[:2], lines[2] + " …"]
