from __future__ import annotations

import re

import pytest

from everloop.console.pages import STATIC

CSS = (STATIC / "console.css").read_text()
LIGHT, DARK = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part)) for part in CSS.split("@media")[:2])
PAIRS = [
    ("ink", "ground"),
    ("ink", "raised"),
    ("quiet", "ground"),
    ("quiet", "raised"),
    ("accent", "ground"),
    ("accent", "raised"),
    ("on-accent", "accent"),
    ("accent", "accent-ground"),
    *((name, f"{name}-ground") for name in ("wrong", "warn", "good")),
    *((name, "raised") for name in ("wrong", "warn", "good")),
]


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_can_be_read_on_its_ground(theme: dict[str, str], text: str, ground: str) -> None:
    assert contrast(theme[text], theme[ground]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_edge_of_a_field_can_be_seen(theme: dict[str, str]) -> None:
    assert contrast(theme["edge"], theme["raised"]) >= 3


def test_the_stylesheet_asks_nothing_of_another_site() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
