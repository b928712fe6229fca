"""The picture ``timeline``: how long each phase of each round was at work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloop.events import Json
from everloop.fields import word
from everloop.language import Language
from everloop.pictures.axis import Axis
from everloop.pictures.elements import Value, across, element, group, line, words
from everloop.pictures.frame import framed, legend, measured
from everloop.pictures.phases import Phase, by_round, lasted, phases, took
from everloop.pictures.picture import Column, Picture

ROW = 30
"""Pixels of a round."""
HIGH = 18
"""Pixels of a block."""
BLOCKS = 300
"""Most blocks in a picture; with more phases, those of a kind become one block in each round."""

_HATCHED = ("think", "check")


@dataclass(frozen=True, slots=True)
class Block:
    """What is drawn of a phase."""

    kind: str
    """The kind of work in it, which decides its fill."""
    name: str
    """Its name as people read it."""
    seconds: float
    """How long it is."""
    open: bool
    """Whether it is still at work."""


Row = tuple[float, list[Phase]]
"""A round with its phases."""


def timeline(document: Json, history: Json | None, language: Language) -> Picture:
    """Phases of the newest rounds, at work only: waiting and pauses between phases are left out."""
    found = phases(document, history)
    rows = by_round(found)
    title = language.say("Phases of the rounds")
    told = _told(rows, language) if rows else language.say("No time of any phase is recorded yet.")
    return Picture(
        "timeline",
        title,
        told,
        _drawing(rows, language, title, told) if rows else "",
        _columns(language),
        [(one.round, one.candidate, one.called(language), one.started_at, one.ended_at, one.seconds) for one in found],
        _caption(rows, language) if rows else "",
        word(document.get("run")),
    )


def _columns(language: Language) -> list[Column]:
    return [
        Column(language.say("Round"), ".0f"),
        Column(language.say("Candidate")),
        Column(language.say("Phase")),
        Column(language.say("Started"), time=True),
        Column(language.say("Ended"), time=True),
        Column(language.say("Seconds"), ".1f"),
    ]


def _told(rows: Sequence[Row], language: Language) -> str:
    said = []
    for number_of, found in rows[:12]:
        longest = max(found, key=lambda one: one.seconds or 0.0)
        said.append(
            language.say(
                "Round %(round)s: %(time)s at work, longest %(phase)s with %(longest)s.",
                round=f"{number_of:.0f}",
                time=lasted(took(found)),
                phase=longest.called(language),
                longest=lasted(longest.seconds),
            )
        )
    return " ".join(said)


def _caption(rows: Sequence[Row], language: Language) -> str:
    said = [language.say("Time at work in each round; waiting and pauses between phases are left out.")]
    if _crowded(rows):
        said.append(language.say("Phases of a kind are drawn as one block; the table has each."))
    return " ".join(said)


def _crowded(rows: Sequence[Row]) -> bool:
    return sum(len(found) for _, found in rows) > BLOCKS


def _drawing(rows: Sequence[Row], language: Language, title: str, told: str) -> str:
    entries, high = legend(_entries(rows, language))
    top = high + 34
    bottom = top + ROW * len(rows) + 4
    axis = Axis.of_time(max(took(found) for _, found in rows) * 1.25)
    body = [_patterns(), *entries, words(language.say("round"), -50, top - 12, "quiet small")]
    ticks = axis.ticks()
    for tick in ticks:
        x = across(axis.share(tick))
        body.append(line("grid", x, top, x, bottom))
        body.append(words(axis.lasts(tick), x, bottom + 18, "quiet", "end" if tick == ticks[-1] else "middle"))
    crowded = _crowded(rows)
    for place, (number_of, found) in enumerate(rows):
        blocks = _merged(found, language) if crowded else _blocks(found, language)
        body += _row(number_of, blocks, axis, top + 8 + ROW * place, language)
    body.append(words(language.say("time at work"), "100%", bottom + 36, "quiet small", "end"))
    return framed("timeline", title, told, bottom + 44, body)


def _blocks(found: Sequence[Phase], language: Language) -> list[Block]:
    return [Block(one.kind, one.called(language), one.seconds or 0.0, one.at_work) for one in found]


def _merged(found: Sequence[Phase], language: Language) -> list[Block]:
    """One block for each kind of phase, in the order in which the kinds came first."""
    kinds: dict[str, list[Phase]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    names = _kinds(language)
    return [Block(kind, names[kind], took(some), any(one.at_work for one in some)) for kind, some in kinds.items()]


def _row(number_of: float, blocks: Sequence[Block], axis: Axis, y: float, language: Language) -> list[str]:
    name = f"{number_of:.0f}" if number_of else language.say("start")
    drawn = [words(name, -8, y + 13, "ink", "end")]
    begun = 0.0
    for one in blocks:
        drawn.append(_block(one, begun, axis, y, language))
        begun += one.seconds
    whole = lasted(begun) + (" …" if any(one.open for one in blocks) else "")
    return [*drawn, words(whole, across(axis.share(begun)), y + 13, "quiet small", dx=6)]


def _block(one: Block, begun: float, axis: Axis, y: float, language: Language) -> str:
    """A block with its name where that fits; one at work has a dashed edge, one too short to see is left out."""
    start, share = axis.share(begun), axis.share(begun + one.seconds) - axis.share(begun)
    if share < 0.0005:
        return ""
    x, width = across(start), across(share)
    marks = [_box(kind, x, y, width) for kind in _layers(one.kind)]
    if one.open:
        marks.append(element("rect", class_="open", x=x, y=y - 2, width=width, height=HIGH + 4))
    tier = _fits(measured(one.name) + 8, share)
    if tier is not None and one.kind in {"build", "measure"}:
        marks.append(words(one.name, across(start + share / 2), y + 13, f"on-mark {tier}".strip(), "middle"))
    return group(language.say("%(phase)s: %(time)s", phase=one.name, time=lasted(one.seconds)), *marks)


def _fits(wide: float, share: float) -> str | None:
    """The class that shows a name where its block is wide enough; None where it never is."""
    tiers = (("", 220), ("from-middle", 450), ("from-wide", 690))
    return next((tier for tier, width in tiers if share * width >= wide), None)


def _layers(kind: str) -> tuple[str, ...]:
    """Plain fills for building and measuring, hatched ones for thinking, dotted ones for checking."""
    return (f"{kind}-ground", kind) if kind in _HATCHED else (kind,)


def _box(layer: str, x: str | float, y: float, width: str | float, height: float = HIGH) -> str:
    hatched = layer in _HATCHED
    fill = f"url(#picture-timeline-{layer})" if hatched else None
    named = "block" if hatched else f"block {layer}"
    return element("rect", class_=named, fill=fill, x=x, y=y, width=width, height=height)


def _patterns() -> str:
    size: dict[str, Value] = {"width": 8.0, "height": 8.0, "patternUnits": "userSpaceOnUse"}
    lines = element("path", class_="think-lines", d="M-2 2L2-2M0 8L8 0M6 10L10 6")
    dots = "".join(element("circle", class_="check-dots", cx=x, cy=x, r=1.5) for x in (2, 6))
    return element(
        "defs",
        element("pattern", lines, id="picture-timeline-think", **size),
        element("pattern", dots, id="picture-timeline-check", **size),
    )


def _kinds(language: Language) -> dict[str, str]:
    return {
        "think": language.say("diagnose, propose"),
        "build": language.say("build, train"),
        "measure": language.say("measure, certify"),
        "check": language.say("audit, approval"),
        "rest": language.say("other"),
    }


def _entries(rows: Sequence[Row], language: Language) -> list[tuple[str, str]]:
    """What the fills mean; only those that are in the picture."""
    shown = {one.kind for _, found in rows for one in found}
    return [
        ("".join(_box(layer, -9, -7, 18, 14) for layer in _layers(kind)), text)
        for kind, text in _kinds(language).items()
        if kind in shown
    ]
