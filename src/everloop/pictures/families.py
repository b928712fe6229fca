"""The picture ``families``: each family before and after, the first version beside the best and the control arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from everloop.events import Json
from everloop.fields import MISSING, ORDER, figure, interval, number, part, parts, word
from everloop.language import Language
from everloop.language.vocabulary import term
from everloop.pictures.axis import Axis, drawable
from everloop.pictures.elements import across, diamond, dot, group, line, words
from everloop.pictures.frame import LEFT, framed, legend
from everloop.pictures.picture import LEVEL, Cell, Column, Picture

MOST = 40
"""Most families drawn; of more, those that changed most."""
ROW = 66
"""Pixels of a family."""


@dataclass(frozen=True, slots=True)
class Side:
    """Score of one family on one side."""

    mean: float | None
    """Score; None: not measured."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: float | None
    """Items behind it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What is held beside each other."""

    before: str
    """The first version."""
    after: str | None
    """The best version; None while it is the first."""
    control: bool
    """Whether there is a control arm."""
    sets: tuple[str | None, str | None, str | None]
    """Set of each: before, after, control."""
    families: dict[str, tuple[Side, Side, Side]]
    """Family -> before, after, control."""


_NONE = Side(None, None, None, None)


def families(document: Json, language: Language) -> Picture:
    """Families on the strongest set that both versions were measured on."""
    compared = _compared(document)
    title = language.say("Families before and after")
    found = compared.families if compared else {}
    if compared is None or not found:
        told = language.say("No score per family yet.")
        return Picture("families", title, told, "", _columns(language), [], run=word(document.get("run")))
    drawn = _chosen(compared)
    told = _told(compared, language)
    return Picture(
        "families",
        title,
        told,
        _drawing(compared, drawn, language, title, told),
        _columns(language),
        [row for name in found for row in _rows(name, compared, language)],
        _caption(compared, len(drawn), language),
        word(document.get("run")),
    )


def _columns(language: Language) -> list[Column]:
    return [
        Column(language.say("Family")),
        Column(language.say("Version")),
        Column(language.say("Set")),
        Column(language.say("Mean"), ".3f"),
        Column(language.say("Low"), ".3f"),
        Column(language.say("High"), ".3f"),
        Column("n", ",.0f"),
    ]


def _rows(name: str, compared: Compared, language: Language) -> list[list[Cell]]:
    titles = (compared.before, compared.after, language.say("control arm") if compared.control else None)
    sides = compared.families[name]
    return [
        [name, title, None if set_name is None else term(language, set_name), side.mean, side.low, side.high, side.n]
        for title, set_name, side in zip(titles, compared.sets, sides, strict=True)
        if title is not None
    ]


def _compared(document: Json) -> Compared | None:
    listed = parts(document, "versions")
    if not listed:
        return None
    before = listed[0]
    best = document.get("best_version")
    after = next((one for one in listed[1:] if one.get("version") == best), {})
    control = part(document, "control")
    chosen = _common(before, after)
    sets = tuple(chosen if chosen in _sets(one) else _strongest(_sets(one)) for one in (before, after, control))
    scored = [_by_family(one, name) for one, name in zip((before, after, control), sets, strict=True)]
    names = dict.fromkeys(name for one in scored for name in one)
    found = {
        name: (scored[0].get(name, _NONE), scored[1].get(name, _NONE), scored[2].get(name, _NONE)) for name in names
    }
    named = word(after.get("version")) if after else None
    return Compared(word(before.get("version")), named, bool(control), (sets[0], sets[1], sets[2]), found)


def _sets(scored: Json) -> set[str]:
    """Sets with a score of any family."""
    return {word(one.get("set")) for one in parts(scored, "scores") if one.get("split") != "all"}


def _strongest(found: set[str]) -> str | None:
    return next((name for name in (*ORDER, *sorted(found)) if name in found), None)


def _common(before: Json, after: Json) -> str | None:
    """The strongest set that both were measured on, so that like is held against like."""
    return _strongest(_sets(before) & _sets(after) if after else _sets(before))


def _by_family(scored: Json, set_name: str | None) -> dict[str, Side]:
    return {
        word(one.get("split")): Side(*(drawable(number(one, field)) for field in ("mean", "low", "high", "n")))
        for one in parts(scored, "scores")
        if set_name is not None and one.get("set") == set_name and one.get("split") != "all"
    }


def _chosen(compared: Compared) -> list[str]:
    """Families in their order; when there are too many, those that changed most."""
    names = list(compared.families)
    if len(names) <= MOST:
        return names
    changed = sorted(names, key=lambda name: -abs(_change(compared.families[name]) or 0.0))
    kept = set(changed[:MOST])
    return [name for name in names if name in kept]


def _change(sides: tuple[Side, Side, Side]) -> float | None:
    before, after = sides[0].mean, sides[1].mean
    return None if before is None or after is None else after - before


def _told(compared: Compared, language: Language) -> str:
    some = [_family(name, compared, language) for name in _chosen(compared)[:12]]
    more = len(compared.families) - len(some)
    rest = [language.count("%(n)s more family is in the table.", "%(n)s more families are in the table.", more)]
    return " ".join(["; ".join(some) + ".", *(rest if more else [])])


def _family(name: str, compared: Compared, language: Language) -> str:
    before, after, _ = compared.families[name]
    if compared.after is None:
        return language.say("%(family)s: %(before)s", family=name, before=_figures(before))
    known = {"family": name, "before": _figures(before), "after": _figures(after)}
    return language.say("%(family)s: before %(before)s, after %(after)s", **known)


def _figures(side: Side) -> str:
    if side.mean is None:
        return MISSING
    return f"{figure(side.mean)} {interval(side.low, side.high)}, n = {figure(side.n, ',.0f')}"


def _caption(compared: Compared, drawn: int, language: Language) -> str:
    before, after, control = compared.sets
    if compared.after is None:
        said = [
            language.say(
                "%(version)s on %(set)s items; no later version is the best yet. Bars are %(level)s intervals.",
                version=compared.before,
                set=term(language, before),
                level=LEVEL,
            )
        ]
    else:
        said = [
            language.say(
                "%(before)s on %(before_set)s items, %(after)s on %(after_set)s items. Bars are %(level)s intervals.",
                before=compared.before,
                before_set=term(language, before),
                after=compared.after,
                after_set=term(language, after),
                level=LEVEL,
            )
        ]
    if compared.control and control != before:
        said.append(language.say("The control arm is on %(set)s items.", set=term(language, control)))
    if drawn < len(compared.families):
        total = len(compared.families)
        said.append(
            language.say(
                "Drawn: the %(n)s of %(all)s families that changed most; the table has all.", n=drawn, all=total
            )
        )
    return " ".join(said)


def _drawing(compared: Compared, drawn: Sequence[str], language: Language, title: str, told: str) -> str:
    shown = [side for name in drawn for side in compared.families[name]]
    axis = Axis.over([end for side in shown for end in (side.low, side.mean, side.high)], most=4, within=(0.0, 1.0))
    entries, high = legend(_entries(compared, language))
    top = high + 12
    bottom = top + ROW * len(drawn) + 4
    body = [*entries]
    for tick in axis.ticks():
        x = across(axis.share(tick))
        body.append(line("grid", x, top, x, bottom))
        body.append(words(axis.told(tick), x, bottom + 18, "quiet", "middle"))
    body.append(words(language.say("score"), "100%", bottom + 36, "quiet small", "end"))
    for place, name in enumerate(drawn):
        body.append(_row(name, compared, axis, top + ROW * place, language))
    return framed("families", title, told, bottom + 44, body)


def _row(name: str, compared: Compared, axis: Axis, top: float, language: Language) -> str:
    """Name and figures above, marks below: before and after on two levels so that intervals do not cover each other."""
    before, after, control = compared.families[name]
    shown = [before, after] if compared.after else [before]
    sizes = dict.fromkeys(figure(side.n, ",.0f") for side in shown)
    right = f"{' → '.join(figure(side.mean) for side in shown)}, n={'/'.join(sizes)}"
    marks = [
        line("grid", "0", top, "100%", top),
        words(name if len(name) <= 24 else name[:23] + "…", 16 - LEFT, top + 17, "ink strong halo"),
        words(right, "100%", top + 17, "quiet small halo", "end"),
        *_mark(before, "plain-line", lambda x, y: dot("plain", x, y), axis, top + 29),
        *_mark(after, "interval", lambda x, y: dot("full", x, y), axis, top + 40),
        *_mark(control, "other-line", lambda x, y: diamond("other", x, y), axis, top + 52),
    ]
    return group(_family(name, compared, language), *marks)


def _mark(side: Side, kind: str, shape: Callable[[str, float], str], axis: Axis, y: float) -> list[str]:
    if side.mean is None:
        return []
    whole = side.low is not None and side.high is not None
    ends = (
        [line(kind, across(axis.share(side.low or 0.0)), y, across(axis.share(side.high or 0.0)), y)] if whole else []
    )
    return [*ends, shape(across(axis.share(side.mean)), y)]


def _entries(compared: Compared, language: Language) -> list[tuple[str, str]]:
    entries = [(dot("plain", "0", 0), language.say("before: %(version)s", version=compared.before))]
    if compared.after is not None:
        entries.append((dot("full", "0", 0), language.say("after: %(version)s", version=compared.after)))
    if compared.control:
        entries.append((diamond("other", "0", 0), language.say("control arm")))
    return entries
