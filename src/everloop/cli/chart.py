"""The chart of a run: score per version with its interval, as one SVG document made of text alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor

from everloop.cli.fields import figure, interval, main_score, number, part, parts, word
from everloop.events import Json

WIDTH, HEIGHT = 820, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 28, 84, 76
ROOM = 64
"""Pixels a label needs; with less room for each version only some are labelled."""
APART = 96
"""Pixels at the right that belong to the control arm."""

_STYLE = """
.page{fill:#fff} .ink{fill:#1f2328} .quiet{fill:#59636e} .grid{stroke:#d8dee4} .axis{stroke:#8c959f}
.line{stroke:#0969da} .bar{stroke:#0969da} .dot{fill:#0969da;stroke:#0969da} .hollow{fill:#fff;stroke:#0969da}
.other{stroke:#9a6700;fill:#9a6700} .ref{stroke:#9a6700}
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.title{font-size:17px;font-weight:600} .small{font-size:11px}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117} .ink{fill:#e6edf3} .quiet{fill:#9198a1} .grid{stroke:#2a313c} .axis{stroke:#6e7681}
.line{stroke:#4493f8} .bar{stroke:#4493f8} .dot{fill:#4493f8;stroke:#4493f8} .hollow{fill:#0d1117;stroke:#4493f8}
.other{stroke:#d29922;fill:#d29922} .ref{stroke:#d29922}}
""".replace("\n", "")


@dataclass(frozen=True, slots=True)
class Bar:
    """One column of the chart."""

    name: str
    """Version, or ``control``."""
    mean: float | None
    """Score; None leaves a gap."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: int | None
    """Items behind the score."""
    set: str | None
    """Set it was measured on; scores on blind items are drawn filled, others hollow."""

    @property
    def told(self) -> str:
        """The column in words."""
        if self.mean is None:
            return f"{self.name}: not measured"
        return f"{self.name}: {figure(self.mean)} {interval(self.low, self.high)} on {self.n} {self.set} items"


def bars(document: Json) -> list[Bar]:
    """Versions in order and, last, the control arm when there is one."""
    named = [(word(version.get("version")), version) for version in parts(document, "versions")]
    control = part(document, "control")
    return [_bar(name, one) for name, one in [*named, *([("control", control)] if control else [])]]


def _bar(name: str, scored: Json) -> Bar:
    score = main_score(scored) or {}
    n, set_name = number(score, "n"), score.get("set")
    low, high = number(score, "low"), number(score, "high")
    return Bar(
        name,
        number(score, "mean"),
        low,
        high,
        None if n is None else int(n),
        None if set_name is None else word(set_name),
    )


def chart(document: Json) -> str:
    """The whole SVG document. A run without versions gives an empty chart that says so."""
    drawn = bars(document)
    title = f"Run {word(document.get('run'))}: score per version"
    told = "; ".join(bar.told for bar in drawn) or "No version yet."
    scale = _Scale(drawn)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-labelledby="chart-title chart-desc">',
            f'<title id="chart-title">{escape(title)}</title>',
            f'<desc id="chart-desc">{escape(told)}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
            f'<text class="ink title" x="{LEFT - 40}" y="30">{escape(title)}</text>',
            f'<text class="quiet" x="{LEFT - 40}" y="51">{escape(_subtitle(document))}</text>',
            *_axis(scale),
            *_reference(drawn, scale),
            *_line(drawn, scale),
            *(mark for place in range(len(drawn)) for mark in _mark(drawn, place, scale)),
            *_legend(drawn),
            "</svg>",
            "",
        ]
    )


def _subtitle(document: Json) -> str:
    final = next((one for one in reversed(parts(document, "gates")) if one.get("gate") == "final"), None)
    if final is None:
        return f"{word(document.get('domain'))}; mean with 95 % interval; the final gate has not been held"
    verdict = "confirmed against v0" if final.get("passed") else "not confirmed against v0"
    claims = {one.get("claim"): one.get("outcome") for one in parts(document, "claims")}
    control = {"shown": "; beats the control arm", "not_shown": "; not shown to beat the control arm"}
    told = control.get(word(claims.get("beats_control")), "")
    return f"{word(final.get('candidate'))} {verdict} on {word(final.get('n'))} blind items{told}; bars: 95 % interval"


class _Scale:
    """Where a score and a column lie on the page."""

    def __init__(self, drawn: Sequence[Bar]) -> None:
        ends = [end for bar in drawn for end in (bar.low, bar.mean, bar.high) if end is not None]
        low, high = min(ends, default=0.0), max(ends, default=1.0)
        self.step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / step <= 6 or step == 0.2)
        self.bottom = floor(low / self.step - 0.25) * self.step
        self.top = ceil(high / self.step + 0.25) * self.step
        if low >= 0 and high <= 1:
            self.bottom, self.top = max(0.0, self.bottom), min(1.0, self.top)
        self.versions = sum(1 for bar in drawn if bar.name != "control")
        room = WIDTH - LEFT - RIGHT - (APART if self.versions < len(drawn) else 0)
        self.gap = room / max(1, self.versions)

    def x(self, place: int) -> float:
        """Centre of a column; the control arm stands apart, at the right."""
        return LEFT + (place + 0.5) * self.gap if place < self.versions else WIDTH - RIGHT - APART / 2

    def y(self, score: float) -> float:
        """Height of a score."""
        share = (score - self.bottom) / (self.top - self.bottom)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def ticks(self) -> list[float]:
        """Scores with a grid line."""
        count = round((self.top - self.bottom) / self.step)
        return [self.bottom + place * self.step for place in range(count + 1)]


def _axis(scale: _Scale) -> list[str]:
    drawn = []
    for tick in scale.ticks():
        y = scale.y(tick)
        drawn.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        drawn.append(f'<text class="quiet" x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{tick:.2f}</text>')
    base = HEIGHT - BOTTOM
    drawn.append(f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}"/>')
    return drawn


def _reference(drawn: Sequence[Bar], scale: _Scale) -> list[str]:
    """A dashed line at the control arm's score, so that every version can be held against it."""
    control = next((bar for bar in drawn if bar.name == "control" and bar.mean is not None), None)
    if control is None or control.mean is None:
        return []
    y = scale.y(control.mean)
    return [f'<line class="ref" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke-dasharray="3 5"/>']


def _line(drawn: Sequence[Bar], scale: _Scale) -> list[str]:
    """Neighbouring versions joined; a version that was not measured breaks the line."""
    joined = []
    for place, (one, other) in enumerate(pairwise(drawn)):
        if one.mean is not None and other.mean is not None and other.name != "control":
            ends = f'x1="{scale.x(place):.1f}" y1="{scale.y(one.mean):.1f}" '
            ends += f'x2="{scale.x(place + 1):.1f}" y2="{scale.y(other.mean):.1f}"'
            joined.append(f'<line class="line" {ends} stroke-width="1.5" stroke-opacity=".5"/>')
    return joined


def _mark(drawn: Sequence[Bar], place: int, scale: _Scale) -> list[str]:
    bar, x = drawn[place], scale.x(place)
    every = ceil(ROOM / scale.gap)
    last = scale.versions - 1
    labelled = bar.name == "control" or place == last or (place % every == 0 and last - place >= every)
    base = HEIGHT - BOTTOM
    marks = [f"<g><title>{escape(bar.told)}</title>"]
    if bar.mean is not None:
        marks += _whiskers(bar, x, scale)
        marks.append(_dot(bar, x, scale.y(bar.mean), 5.0 if scale.gap >= 24 else 3.0))
    if labelled:
        marks.append(f'<text class="ink" x="{x:.1f}" y="{base + 20}" text-anchor="middle">{escape(bar.name)}</text>')
        marks.append(_small(x, base + 36, figure(bar.mean), "ink"))
        marks.append(_small(x, base + 51, "not measured" if bar.n is None else f"n={bar.n}", "quiet"))
    return [*marks, "</g>"]


def _small(x: float, y: float, text: str, ink: str) -> str:
    return f'<text class="{ink} small" x="{x:.1f}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _whiskers(bar: Bar, x: float, scale: _Scale) -> list[str]:
    if bar.low is None or bar.high is None:
        return []
    colour, low, high = "other" if bar.name == "control" else "bar", scale.y(bar.low), scale.y(bar.high)
    wide = min(7.0, scale.gap / 4)
    caps = "".join(f"M{x - wide:.1f} {y:.1f}H{x + wide:.1f}" for y in (low, high))
    return [f'<path class="{colour}" d="M{x:.1f} {low:.1f}V{high:.1f}{caps}" fill="none" stroke-width="1.75"/>']


def _dot(bar: Bar, x: float, y: float, size: float) -> str:
    if bar.name == "control":
        corners = f"{x:.1f},{y - size:.1f} {x + size:.1f},{y:.1f} {x:.1f},{y + size:.1f} {x - size:.1f},{y:.1f}"
        return f'<polygon class="other" points="{corners}"/>'
    colour = "dot" if bar.set == "blind" else "hollow"
    return f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{size}" stroke-width="1.75"/>'


def _legend(drawn: Sequence[Bar]) -> list[str]:
    """What the marks mean; only those that are in the chart."""
    shown = {
        ("control" if bar.name == "control" else "blind" if bar.set == "blind" else "other")
        for bar in drawn
        if bar.mean is not None
    }
    texts = {"blind": "blind items", "other": "certify or dev items", "control": "control arm"}
    marks, x = [], float(WIDTH - RIGHT)
    for kind in ("control", "other", "blind"):
        if kind in shown:
            x -= 7.0 * len(texts[kind]) + 26
            bar = Bar(
                "control" if kind == "control" else "v", 0.0, None, None, None, "blind" if kind == "blind" else "dev"
            )
            marks.append(_dot(bar, x, 69, 4.5))
            marks.append(f'<text class="quiet small" x="{x + 10:.1f}" y="73">{texts[kind]}</text>')
    return marks
