"""Style rules of pictures: one text for the console's stylesheet, for stand-alone pictures and for reports.

Colours are the page's custom properties. Shapes and dashes tell apart what colours tell apart, so that nothing is lost
in grey.
"""

from __future__ import annotations

RULES = """\
.drawing { display: block; box-sizing: border-box; width: 100%; padding: 0 20px 0 56px; overflow: visible; }
.drawing text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
.drawing text { font-variant-numeric: tabular-nums; }
.drawing .small { font-size: 11px; }
.drawing .strong { font-weight: 600; }
.drawing .at { overflow: visible; }
.drawing .ink { fill: var(--ink); }
.drawing .quiet { fill: var(--quiet); }
.drawing .on-mark { fill: var(--raised); font-size: 11px; }
.drawing .grid { stroke: var(--line); }
.drawing .base { stroke: var(--edge); }
.drawing .path { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.drawing .faint { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-opacity: .5; }
.drawing .interval { fill: none; stroke: var(--accent); stroke-width: 2.5; }
.drawing .hair { fill: none; stroke: var(--accent); stroke-width: 1; stroke-opacity: .35; }
.drawing .points { fill: none; stroke: var(--accent); stroke-width: 3; stroke-linecap: round; }
.drawing .dots { fill: none; stroke: var(--ink); stroke-width: 6; stroke-linecap: round; }
.drawing .point { fill: var(--accent); }
.drawing .point-strong { fill: var(--ink); }
.drawing .full { fill: var(--accent); stroke: var(--accent); stroke-width: 2; }
.drawing .hollow { fill: var(--raised); stroke: var(--accent); stroke-width: 2; }
.drawing .plain { fill: var(--raised); stroke: var(--edge); stroke-width: 2; }
.drawing .plain-line { fill: none; stroke: var(--edge); stroke-width: 2.5; }
.drawing .other { fill: var(--other); stroke: var(--other); stroke-width: 2; }
.drawing .other-line { fill: none; stroke: var(--other); stroke-width: 2.5; }
.drawing .other-path { fill: none; stroke: var(--other); stroke-width: 2; stroke-dasharray: 7 4; }
.drawing .other-limit { stroke: var(--other); stroke-width: 1.5; stroke-dasharray: 2 4; }
.drawing .limit { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 2 4; }
.drawing .plain-dots { fill: none; stroke: var(--quiet); stroke-width: 2; stroke-dasharray: 2 3; }
.drawing .halo { stroke: var(--raised); stroke-width: 4; paint-order: stroke; stroke-linejoin: round; }
.drawing .block { stroke: var(--raised); stroke-width: 1; }
.drawing .open { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 3 3; }
.drawing .build { fill: var(--accent); }
.drawing .measure { fill: var(--other); }
.drawing .think-ground, .drawing .check-ground, .drawing .rest { fill: var(--line); }
.drawing .think-lines { fill: none; stroke: var(--accent); stroke-width: 2; }
.drawing .check-dots { fill: var(--other); }
.drawing .from-middle, .drawing .from-wide { display: none; }
"""
"""Rules for the svg element of a picture; they need the properties of `PALETTE`, or the page's own of these names."""

WIDER = """\
.picture { container: picture / inline-size; margin: 0; break-inside: avoid; }
@container picture (min-width: 32rem) { .drawing .from-middle { display: inline; } }
@container picture (min-width: 46rem) { .drawing .from-wide { display: inline; } }
"""
"""Rules for a page: an element of class ``picture`` around the svg element, so that wide pages get more labels."""

_LIGHT = """\
--ink: #1d2421; --quiet: #5a645f; --line: #d9ddd9; --edge: #8a938e;
--raised: #ffffff; --accent: #2a6656; --other: #9a5b00;"""
_DARK = """\
--ink: #e6eae7; --quiet: #a3ada8; --line: #343b37; --edge: #6f7a74;
--raised: #1c211f; --accent: #7cc4ae; --other: #e0a85a;"""

PALETTE = f"""\
:root {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
@media print {{ :root {{ {_LIGHT} }} }}
"""
"""Colours by day, by night and on paper, for documents that stand alone."""
