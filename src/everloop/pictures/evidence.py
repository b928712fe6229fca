"""The picture ``evidence``: log E and futility of a comparison over its pairs, with the thresholds of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloop.events import Json
from everloop.fields import END_STATES, figure, number, part, parts, word
from everloop.language import Language
from everloop.pictures.axis import Axis, drawable, upright
from everloop.pictures.elements import across, cross, dot, element, group, joined, line, path, square, stretched, words
from everloop.pictures.frame import framed, legend
from everloop.pictures.picture import Column, Picture

PLOT = 220
"""Pixels between the least and the most evidence."""
SINGLE = 60
"""Most looks with a mark of their own."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a comparison."""

    pairs: float | None
    """Pairs measured by then."""
    wins: float | None
    """Pairs that the candidate alone got right."""
    losses: float | None
    """Pairs that the baseline alone got right."""
    log_e: float | None
    """Natural log of the e-value for a gain."""
    futility: float | None
    """Natural log of the e-value against the least gain."""
    at: str | None
    """When."""


def evidence(document: Json, history: Json | None, language: Language) -> Picture:
    """Evidence of the current comparison, else the newest; without history its last look, as the rounds have it."""
    compared = _compared(document, history)
    looks = _looks(compared)
    title = language.say("Evidence of the comparison")
    drawn = [look for look in looks if look.pairs is not None and (look.log_e is not None or look.futility is not None)]
    told = _told(compared, looks, language) if looks else _none(compared, language)
    if looks and not drawn:
        told = " ".join([told, language.say("This gate computes no e-value; there is no line to draw.")])
    return Picture(
        "evidence",
        title,
        told,
        _drawing(compared, drawn, language, title, told) if drawn else "",
        _columns(language),
        [(look.pairs, look.wins, look.losses, look.log_e, look.futility, look.at) for look in looks],
        told if drawn else "",
        word(document.get("run")),
    )


def _columns(language: Language) -> list[Column]:
    return [
        Column(language.say("Pairs"), ",.0f"),
        Column(language.say("Won"), ",.0f"),
        Column(language.say("Lost"), ",.0f"),
        Column(language.say("Log E"), ".2f"),
        Column(language.say("Futility"), ".2f"),
        Column(language.say("At"), time=True),
    ]


def _compared(document: Json, history: Json | None) -> Json:
    """The comparison of the history; else the newest certification that the rounds of the document have."""
    over = word(document.get("state")) in END_STATES
    found = part(history or {}, "comparison")
    if found:
        return {**found, "over": over}
    newest = sorted(parts(document, "rounds"), key=lambda one: number(one, "round") or 0, reverse=True)
    for one in newest:
        for candidate in reversed(parts(one, "candidates")):
            if last := part(candidate, "certification"):
                known: Json = {
                    "candidate": candidate.get("candidate"),
                    "round": one.get("round"),
                    "looks": [last],
                    "alone": True,
                }
                return {**last, **known}
    return {}


def _looks(compared: Json) -> list[Look]:
    """In the order of their pairs."""
    found = [_look(one) for one in parts(compared, "looks")]
    return sorted(found, key=lambda look: look.pairs or 0.0)


def _look(one: Json) -> Look:
    at = one.get("at")
    pairs, wins, losses, log_e, futility = (
        drawable(number(one, name)) for name in ("pairs", "wins", "losses", "log_e", "futility")
    )
    return Look(pairs, wins, losses, log_e, futility, at if isinstance(at, str) else None)


def _told(compared: Json, looks: Sequence[Look], language: Language) -> str:
    last = looks[-1]
    known = {
        "candidate": word(compared.get("candidate")),
        "against": word(compared.get("against")),
        "wins": figure(last.wins, ",.0f"),
        "losses": figure(last.losses, ",.0f"),
        "pairs": figure(last.pairs, ",.0f"),
        "log_e": figure(last.log_e, ".2f"),
        "threshold": figure(number(compared, "threshold"), ".2f"),
    }
    said = language.say(
        "%(candidate)s against %(against)s: %(wins)s won, %(losses)s lost of %(pairs)s fresh pairs; "
        "log E %(log_e)s, needs %(threshold)s.",
        **known,
    )
    return " ".join([said, _outcome(compared, language)])


def _none(compared: Json, language: Language) -> str:
    if not compared:
        return language.say("No comparison has been looked at yet.")
    return language.say(
        "%(candidate)s against %(against)s: the first pairs are being measured.",
        candidate=word(compared.get("candidate")),
        against=word(compared.get("against")),
    )


def _outcome(compared: Json, language: Language) -> str:
    stopped = compared.get("stopped")
    if stopped == "shown":
        return language.say(
            "Stopped: the evidence reached its threshold. Whether it was certified is told with its round."
        )
    if stopped in ("futile", "futility"):
        return language.say("Stopped for futility: a gain worth having is unlikely.")
    if stopped == "budget":
        return language.say("Stopped: all pairs are used and the gain is not shown.")
    return language.say("Broken off: the run has ended.") if compared.get("over") else language.say("Still open.")


class _Plan:
    """Where pairs and evidence lie."""

    def __init__(self, compared: Json, drawn: Sequence[Look], top: float) -> None:
        self.threshold = drawable(number(compared, "threshold"))
        self.futile = drawable(number(compared, "futility_threshold"))
        values = [value for look in drawn for value in (look.log_e, look.futility)]
        self.axis = Axis.over([0.0, self.threshold, self.futile, *values])
        self.top, self.bottom = top, top + PLOT
        self.most = drawable(number(compared, "max_pairs"))
        last = max(look.pairs or 0.0 for look in drawn)
        end = max(last, self.most) if self.most and self.most <= 2 * last else last * 1.1
        self.pairs = Axis.over([0.0, end], most=4)

    def x(self, pairs: float) -> float:
        """Share of the width."""
        return self.pairs.share(pairs)

    def y(self, value: float) -> float:
        """Height of an amount of evidence."""
        return self.bottom - self.axis.share(value) * PLOT


def _drawing(compared: Json, drawn: Sequence[Look], language: Language, title: str, told: str) -> str:
    entries, high = legend(_entries(compared, drawn, language))
    plan = _Plan(compared, drawn, high + 34)
    body = [
        *entries,
        *upright(plan.axis, plan.top, plan.bottom, language.say("log e-value")),
        *_limits(plan, language),
        *_pairs(plan, language),
        stretched(plan.bottom, *_curves(drawn, plan, whole=not compared.get("alone"))),
        *(_mark(look, plan, compared, language) for look in (drawn if len(drawn) <= SINGLE else drawn[-1:])),
    ]
    return framed("evidence", title, told, plan.bottom + 44, body)


def _limits(plan: _Plan, language: Language) -> list[str]:
    """The zero line and both thresholds with their values."""
    drawn = [line("base", "0", plan.y(0.0), "100%", plan.y(0.0))]
    named = (
        (plan.threshold, "limit", -5, language.say("shown from %(value)s", value=figure(plan.threshold, ".2f"))),
        (plan.futile, "other-limit", 13, language.say("futile from %(value)s", value=figure(plan.futile, ".2f"))),
    )
    for value, kind, down, said in named:
        if value is not None:
            y = plan.y(value)
            drawn += [line(kind, "0", y, "100%", y), words(said, "100%", y + down, "ink small halo", "end")]
    return drawn


def _pairs(plan: _Plan, language: Language) -> list[str]:
    drawn = [
        words(f"{tick:,.0f}", across(plan.x(tick)), plan.bottom + 18, "quiet", "middle") for tick in plan.pairs.ticks()
    ]
    named = language.say("pairs")
    if plan.most is not None:
        named = language.say("pairs, at most %(n)s", n=figure(plan.most, ",.0f"))
    drawn.append(words(named, "100%", plan.bottom + 36, "quiet small", "end"))
    if plan.most is not None and plan.most <= plan.pairs.high:
        x = across(plan.x(plan.most))
        drawn.append(line("base", x, plan.top, x, plan.bottom))
    return drawn


def _curves(drawn: Sequence[Look], plan: _Plan, *, whole: bool) -> list[str]:
    """Both lines, from zero pairs and no evidence when all looks are known; one without a value breaks its line."""
    start = [(plan.x(0.0), plan.y(0.0))]
    lines = {}
    for name in ("futility", "log_e"):
        values = [(look.pairs or 0.0, look.futility if name == "futility" else look.log_e) for look in drawn]
        points = [None if value is None else (plan.x(pairs), plan.y(value)) for pairs, value in values]
        lines[name] = joined([*start, *points] if whole and points[0] is not None else points)
    return [path("other-path", lines["futility"]), path("path", lines["log_e"])]


def _mark(look: Look, plan: _Plan, compared: Json, language: Language) -> str:
    x = across(plan.x(look.pairs or 0.0))
    said = language.say(
        "%(pairs)s pairs: %(wins)s won, %(losses)s lost; log E %(log_e)s, futility %(futility)s",
        pairs=figure(look.pairs, ",.0f"),
        wins=figure(look.wins, ",.0f"),
        losses=figure(look.losses, ",.0f"),
        log_e=figure(look.log_e, ".2f"),
        futility=figure(look.futility, ".2f"),
    )
    last = look.pairs == max(
        one for one in (number(entry, "pairs") for entry in parts(compared, "looks")) if one is not None
    )
    marks = []
    if look.futility is not None:
        marks.append(square("other", x, plan.y(look.futility)) if last else dot("other", x, plan.y(look.futility), 2))
    if look.log_e is not None:
        marks.append(_end(compared, x, plan.y(look.log_e)) if last else dot("full", x, plan.y(look.log_e), 2.5))
    return group(said, *marks)


def _end(compared: Json, x: str, y: float) -> str:
    """The last look: filled when the threshold was reached, a cross when it stopped without, hollow while open."""
    stopped = compared.get("stopped")
    if stopped in ("futile", "futility", "budget"):
        return cross("path", x, y)
    return dot("full" if stopped == "shown" else "hollow", x, y)


def _entries(compared: Json, drawn: Sequence[Look], language: Language) -> list[tuple[str, str]]:
    stroke = element("path", class_="path", d="M-9 0H9")
    dashes = element("path", class_="other-path", d="M-9 0H9")
    shown = [(stroke, language.say("log E, for a gain"))]
    if any(look.futility is not None for look in drawn):
        shown.append((dashes, language.say("futility, against it")))
    end = {
        "shown": language.say("stopped: threshold reached"),
        "futile": language.say("stopped: futile"),
        "futility": language.say("stopped: futile"),
        "budget": language.say("stopped: not shown"),
    }.get(
        word(compared.get("stopped")),
        language.say("broken off") if compared.get("over") else language.say("still open"),
    )
    return [*shown, (_end(compared, "0", 0), end)]
