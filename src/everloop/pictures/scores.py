"""The picture ``scores``: score per version with its interval and n, the control arm, the final gate."""

from __future__ import annotations

from collections.abc import Sequence

from everloop.events import Json
from everloop.fields import MISSING, figure, interval, number, parts, word
from everloop.language import Language
from everloop.language.vocabulary import term
from everloop.pictures.axis import Axis, tiers, upright
from everloop.pictures.bars import Bar, bars
from everloop.pictures.elements import (
    across,
    diamond,
    dot,
    group,
    joined,
    line,
    path,
    stretched,
    upright_strokes,
    words,
)
from everloop.pictures.frame import framed, legend
from everloop.pictures.picture import LEVEL, Cell, Column, Picture

PLOT = 220
"""Pixels between the lowest and the highest score."""
APART = 0.28
"""Share of the width that belongs to the control arm."""
SINGLE = 60
"""Most columns whose marks are elements of their own; more versions are drawn as points, without words on each."""


def scores(document: Json, language: Language) -> Picture:
    """Score per version. Without any version it says so."""
    drawn = bars(document)
    title = language.say("Score per version")
    told = _told(drawn, language)
    return Picture(
        "scores",
        title,
        told,
        _drawing(drawn, _final(document), language, title, told) if drawn else "",
        _columns(language),
        [_row(bar, language) for bar in drawn],
        _caption(drawn, document, language) if drawn else "",
        word(document.get("run")),
    )


def _columns(language: Language) -> list[Column]:
    return [
        Column(language.say("Version")),
        Column(language.say("Round"), ".0f"),
        Column(language.say("Training rows"), ",.0f"),
        Column(language.say("Set")),
        Column(language.say("Mean"), ".3f"),
        Column(language.say("Low"), ".3f"),
        Column(language.say("High"), ".3f"),
        Column("n", ",.0f"),
        Column(language.say("Missing"), ",.0f"),
    ]


def _row(bar: Bar, language: Language) -> list[Cell]:
    set_name = None if bar.set is None else term(language, bar.set)
    rest = (bar.mean, bar.low, bar.high, bar.n, bar.missing)
    return [bar.called(language), bar.round, bar.rows, set_name, *rest]


def _told(drawn: Sequence[Bar], language: Language) -> str:
    """Every column of a short run; the first, the highest and the last version and the control arm of a long one."""
    if not drawn:
        return language.say("No version yet.")
    if len(drawn) <= 12:
        return "; ".join(bar.told(language) for bar in drawn) + "."
    named = [bar for bar in drawn if bar.name]
    best = max(named, key=lambda bar: -1.0 if bar.mean is None else bar.mean)
    some = dict.fromkeys([named[0], best, named[-1], *(bar for bar in drawn if not bar.name)])
    head = language.count(
        "%(n)s version.", "%(n)s versions, among them the first, the highest and the last.", len(named)
    )
    return head + " " + "; ".join(bar.told(language) for bar in some) + "."


def _final(document: Json) -> Json:
    """The newest final gate; empty before there is one."""
    return next((one for one in reversed(parts(document, "gates")) if one.get("gate") == "final"), {})


def _caption(drawn: Sequence[Bar], document: Json, language: Language) -> str:
    """What the final gate found, whether the control arm was beaten, and how the picture is to be read."""
    said = [_judged(_final(document), language), *_beside_control(document, language)]
    if len(drawn) > SINGLE:
        said.append(language.say("Every version is a point; only some are named, the table has all."))
    return " ".join([*said, language.say("Bars are %(level)s intervals.", level=LEVEL)])


def _judged(final: Json, language: Language) -> str:
    if not final:
        return language.say("The final gate has not been held.")
    form = ".3f" if final.get("passed") is True else "+.3f"  # as the verdict that heads the page
    known = {
        "candidate": word(final.get("candidate")),
        "baseline": word(final.get("baseline")),
        "n": figure(number(final, "n"), ",.0f"),
        "change": figure(number(final, "change"), form),
        "interval": interval(number(final, "low"), number(final, "high"), form),
    }
    if final.get("passed") is True:
        return language.say(
            "Final gate: %(candidate)s is confirmed against %(baseline)s on %(n)s blind items, "
            "change %(change)s %(interval)s.",
            **known,
        )
    if final.get("passed") is False:
        return language.say(
            "Final gate: %(candidate)s is not confirmed against %(baseline)s on %(n)s blind items, "
            "change %(change)s %(interval)s.",
            **known,
        )
    return language.say("The final gate was held; what it found is not recorded.")


def _beside_control(document: Json, language: Language) -> list[str]:
    """Of the newest final gate alone: an earlier one saw another version."""
    beats = _final(document).get("beats_control")
    if beats is True:
        return [language.say("It is shown to beat the control arm.")]
    return [language.say("It is not shown to beat the control arm.")] if beats is False else []


class _Plan:
    """Where columns and scores lie."""

    def __init__(self, drawn: Sequence[Bar], top: float) -> None:
        ends = [end for bar in drawn for end in (bar.low, bar.mean, bar.high)]
        self.axis = Axis.over(ends, within=(0.0, 1.0))
        self.top, self.bottom = top, top + PLOT
        self.versions = sum(1 for bar in drawn if bar.name)
        self.share = 1.0 - APART if self.versions < len(drawn) else 1.0

    def x(self, place: int) -> float:
        """Centre of a column; the control arm stands apart, at the right."""
        if place < self.versions:
            return self.share * (place + 0.5) / self.versions
        return 0.95 if self.versions else 0.5

    def y(self, score: float) -> float:
        """Height of a score."""
        return self.bottom - self.axis.share(score) * PLOT


def _drawing(drawn: Sequence[Bar], final: Json, language: Language, title: str, told: str) -> str:
    entries, high = legend(_entries(drawn, language))
    plan = _Plan(drawn, high + 34)
    body = [
        *entries,
        *upright(plan.axis, plan.top, plan.bottom, language.say("score")),
        line("base", "0", plan.bottom, "100%", plan.bottom),
        *_reference(drawn, plan),
        *_flag(final, drawn, plan, language),
        stretched(plan.bottom, *_paths(drawn, plan)),
        *(_marks(bar, plan.x(place), plan, language) for place, bar in enumerate(drawn) if _single(drawn, bar)),
        *_labels(drawn, plan, language),
    ]
    return framed("scores", title, told, plan.bottom + 62, body)


def _single(drawn: Sequence[Bar], bar: Bar) -> bool:
    return len(drawn) <= SINGLE or not bar.name


def _reference(drawn: Sequence[Bar], plan: _Plan) -> list[str]:
    """A dotted line at the control arm's score, so that every version can be held against it."""
    means = [bar.mean for bar in drawn if not bar.name and bar.mean is not None]
    return [line("other-limit", "0", plan.y(mean), "100%", plan.y(mean)) for mean in means]


def _paths(drawn: Sequence[Bar], plan: _Plan) -> list[str]:
    """Neighbouring versions joined, a gap where one was not measured; of many versions their marks instead."""
    named = [(plan.x(place), bar) for place, bar in enumerate(drawn) if bar.name]
    if len(drawn) <= SINGLE:
        return [path("faint", joined([None if bar.mean is None else (x, plan.y(bar.mean)) for x, bar in named]))]
    whiskers = [
        (x, plan.y(bar.low), plan.y(bar.high)) for x, bar in named if bar.low is not None and bar.high is not None
    ]
    marks: dict[str, list[tuple[float, float, float]]] = {"blind": [], "other": []}
    for x, bar in named:
        if bar.mean is not None:
            marks[bar.shape].append((x, plan.y(bar.mean), plan.y(bar.mean)))
    kinds = (("hair", whiskers), ("points", marks["other"]), ("dots", marks["blind"]))
    return [path(kind, upright_strokes(lines)) for kind, lines in kinds]


def _marks(bar: Bar, share: float, plan: _Plan, language: Language) -> str:
    if bar.mean is None:
        return ""
    x, whiskers = across(share), []
    if bar.low is not None and bar.high is not None:
        whiskers.append(line("interval" if bar.name else "other-line", x, plan.y(bar.low), x, plan.y(bar.high)))
    return group(bar.told(language), *whiskers, _shape(bar.shape, x, plan.y(bar.mean)))


def _shape(shape: str, x: str, y: float) -> str:
    if shape == "control":
        return diamond("other", x, y)
    return dot("full" if shape == "blind" else "hollow", x, y)


def _labels(drawn: Sequence[Bar], plan: _Plan, language: Language) -> list[str]:
    """Name, score and n under as many columns as there is room for."""
    shown = tiers(plan.versions, 46, plan.share)
    shown += [(place, "") for place in range(plan.versions, len(drawn))]
    labels = []
    for place, tier in shown:
        bar, x = drawn[place], across(plan.x(place))
        n = MISSING if bar.n is None else f"n={bar.n:,.0f}"
        rows = (("ink", bar.name or language.say("control")), ("ink small", figure(bar.mean)), ("quiet small", n))
        for down, (kind, text) in zip((19, 36, 52), rows, strict=True):
            labels.append(words(text, x, plan.bottom + down, f"{kind} {tier}".strip(), "middle"))
    return labels


def _flag(final: Json, drawn: Sequence[Bar], plan: _Plan, language: Language) -> list[str]:
    """A line down to the version that the final gate judged."""
    place = next((place for place, bar in enumerate(drawn) if bar.name and bar.name == final.get("candidate")), None)
    said = {True: language.say("final gate: confirmed"), False: language.say("final gate: not confirmed")}
    passed = final.get("passed")
    if place is None or not isinstance(passed, bool):
        return []
    share = plan.x(place)
    return [
        line("limit", across(share), plan.top - 6, across(share), plan.bottom),
        words(said[passed], across(share), plan.top - 12, "ink small", "end" if share > 0.5 else "start"),
    ]


def _entries(drawn: Sequence[Bar], language: Language) -> list[tuple[str, str]]:
    """What the marks mean; only those that are in the picture."""
    shown = {bar.shape for bar in drawn if bar.mean is not None}
    many = len(drawn) > SINGLE
    marks = {
        "blind": (dot("point-strong", "0", 0, 3) if many else dot("full", "0", 0), language.say("blind items")),
        "other": (dot("point", "0", 0, 1.5) if many else dot("hollow", "0", 0), language.say("certify or dev items")),
        "control": (diamond("other", "0", 0), language.say("control arm")),
    }
    return [entry for shape, entry in marks.items() if shape in shown]
