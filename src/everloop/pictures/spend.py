"""The picture ``spend``: money spent over time against the caps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloop.events import Json, JsonValue
from everloop.fields import dollars, moment, number, part, parts, word
from everloop.language import Language
from everloop.pictures.axis import Axis, drawable, upright
from everloop.pictures.elements import across, dot, element, group, joined, line, path, square, stretched, words
from everloop.pictures.frame import framed, legend
from everloop.pictures.phases import lasted
from everloop.pictures.picture import Column, Picture

PLOT = 200
"""Pixels between no money and the most."""
SINGLE = 60
"""Most points with a mark of their own."""


@dataclass(frozen=True, slots=True)
class Point:
    """Money spent up to a moment."""

    round: float | None
    """Round that had ended; None: at this moment."""
    at: str | None
    """When."""
    model: float | None
    """US dollars for language models."""
    gpu: float | None
    """US dollars for training."""
    total: float | None
    """US dollars altogether."""

    @property
    def seconds(self) -> float | None:
        """Seconds since 1970; None without a time that can be read."""
        read = moment(self.at)
        return None if read is None else read.timestamp()


def spend(document: Json, history: Json | None, language: Language) -> Picture:
    """Spend over time; without history only what is spent by now."""
    points = _points(document, history)
    title = language.say("Spend against the caps")
    known = [point for point in points if any(value is not None for value in (point.model, point.gpu, point.total))]
    told = _told(known, document, language) if known else language.say("Nothing is known of the spend yet.")
    return Picture(
        "spend",
        title,
        told,
        _drawing(points, document, language, title, told) if known else "",
        _columns(language),
        [(point.round, point.at, point.model, point.gpu, point.total) for point in points],
        told if known else "",
        word(document.get("run")),
    )


def _columns(language: Language) -> list[Column]:
    return [
        Column(language.say("Round"), ".0f"),
        Column(language.say("At"), time=True),
        Column(language.say("Models, USD"), ".6f"),
        Column(language.say("Training, USD"), ".6f"),
        Column(language.say("Total, USD"), ".6f"),
    ]


def _points(document: Json, history: Json | None) -> list[Point]:
    found = [_point(one, one.get("at"), one.get("round")) for one in parts(history or {}, "spend")]
    now = part(document, "spend")
    return found or ([_point(now, document.get("updated_at"), None)] if now else [])


def _point(one: Json, at: JsonValue, number_of: JsonValue) -> Point:
    model, gpu, total = (drawable(number(one, name)) for name in ("model_usd", "gpu_usd", "total_usd"))
    return Point(number({"round": number_of}, "round"), at if isinstance(at, str) else None, model, gpu, total)


def _caps(document: Json) -> tuple[float | None, float | None]:
    """The cap on everything and the cap on models."""
    limits = part(document, "limits")
    return drawable(number(limits, "usd_cap")), drawable(number(limits, "model_usd_cap"))


def _told(known: Sequence[Point], document: Json, language: Language) -> str:
    last, (cap, model_cap) = known[-1], _caps(document)
    said = language.say(
        "Spent %(total)s: models %(model)s, training %(gpu)s.",
        total=dollars(last.total),
        model=dollars(last.model),
        gpu=dollars(last.gpu),
    )
    capped = [language.say("Cap on models: %(cap)s.", cap=dollars(model_cap))] if model_cap is not None else []
    capped += [language.say("Cap on everything: %(cap)s.", cap=dollars(cap))] if cap is not None else []
    return " ".join([said, *(capped or [language.say("No cap is known.")])])


class _Plan:
    """Where times and amounts lie."""

    def __init__(self, points: Sequence[Point], document: Json, top: float) -> None:
        self.cap, self.model_cap = _caps(document)
        amounts = [value for point in points for value in (point.model, point.gpu, point.total)]
        caps = [cap * 1.04 for cap in (self.cap, self.model_cap) if cap is not None]  # room for what is written on it
        self.axis = Axis.over([0.0, *caps, *amounts])
        self.top, self.bottom = top, top + PLOT
        times = [point.seconds for point in points]
        self.timed = all(one is not None for one in times)
        self.places = [one or 0.0 for one in times] if self.timed else [float(n) for n in range(len(points))]
        self.first = min(self.places)
        self.span = max(self.places) - self.first

    def x(self, place: int) -> float:
        """Share of the width; a single point lies at the end."""
        return (self.places[place] - self.first) / self.span if self.span > 0 else 1.0

    def since(self, place: int) -> float | None:
        """Seconds since the first point; None at the first and where times are missing."""
        return (self.places[place] - self.first or None) if self.timed else None

    def y(self, amount: float) -> float:
        """Height of an amount."""
        return self.bottom - self.axis.share(amount) * PLOT


def _drawing(points: Sequence[Point], document: Json, language: Language, title: str, told: str) -> str:
    entries, high = legend(_entries(points, language))
    plan = _Plan(points, document, high + 34)
    totals = [(place, point) for place, point in enumerate(points) if point.total is not None]
    body = [
        *entries,
        *upright(plan.axis, plan.top, plan.bottom, language.say("US dollars"), "$"),
        line("base", "0", plan.bottom, "100%", plan.bottom),
        *_limits(plan, language),
        *_times(plan, language),
        stretched(plan.bottom, *_curves(points, plan)),
        *(_mark(point, place, plan, language) for place, point in (totals if len(totals) <= SINGLE else totals[-1:])),
    ]
    return framed("spend", title, told, plan.bottom + 44, body)


def _limits(plan: _Plan, language: Language) -> list[str]:
    """A line for each cap, labelled."""
    if plan.cap is not None and plan.cap == plan.model_cap:
        said = language.say("cap on models and on everything %(cap)s", cap=dollars(plan.cap))
        return _limit("limit", plan.y(plan.cap), said)
    drawn = []
    if plan.cap is not None:
        drawn += _limit("limit", plan.y(plan.cap), language.say("cap on everything %(cap)s", cap=dollars(plan.cap)))
    if plan.model_cap is not None:
        said = language.say("cap on models %(cap)s", cap=dollars(plan.model_cap))
        drawn += _limit("other-limit", plan.y(plan.model_cap), said)
    return drawn


def _limit(kind: str, y: float, said: str) -> list[str]:
    return [line(kind, "0", y, "100%", y), words(said, "0", y - 5, "ink small halo", dx=4)]


def _times(plan: _Plan, language: Language) -> list[str]:
    """Time since the first point under the axis; rounds where a time is missing, nothing under a single moment."""
    if not plan.timed:
        return [_below(language.say("in order of rounds, times are missing"), plan)]
    if plan.span <= 0:
        return []
    axis, drawn = Axis.of_time(plan.span, most=3), []
    for tick in axis.ticks():
        share = tick / plan.span
        if share <= 1:
            anchor = "end" if share > 0.95 else "middle"
            drawn.append(words(axis.lasts(tick), across(share), plan.bottom + 18, "quiet", anchor))
    return [*drawn, _below(language.say("time since the first point"), plan)]


def _below(said: str, plan: _Plan) -> str:
    return words(said, "100%", plan.bottom + 36, "quiet small", "end")


def _curves(points: Sequence[Point], plan: _Plan) -> list[str]:
    drawn = []
    for kind, values in (
        ("plain-dots", [point.gpu for point in points]),
        ("other-path", [point.model for point in points]),
        ("path", [point.total for point in points]),
    ):
        known = [None if value is None else (plan.x(place), plan.y(value)) for place, value in enumerate(values)]
        drawn.append(path(kind, joined(known)))
    return drawn


def _mark(point: Point, place: int, plan: _Plan, language: Language) -> str:
    x, last = across(plan.x(place)), place == len(plan.places) - 1
    marks = [dot("full", x, plan.y(point.total or 0.0), 5 if last else 2.5)]
    if last and point.model is not None and point.model != point.total:
        marks.append(square("other", x, plan.y(point.model)))
    if last:
        marks.append(words(dollars(point.total), x, plan.y(point.total or 0.0) - 10, "ink strong halo", "end"))
    return group(_said(point, plan.since(place), language), *marks)


def _said(point: Point, since: float | None, language: Language) -> str:
    known = {"total": dollars(point.total), "model": dollars(point.model), "gpu": dollars(point.gpu)}
    if since is None:
        return language.say("total %(total)s, models %(model)s, training %(gpu)s", **known)
    return language.say(
        "%(time)s after the first point: total %(total)s, models %(model)s, training %(gpu)s",
        time=lasted(since),
        **known,
    )


def _entries(points: Sequence[Point], language: Language) -> list[tuple[str, str]]:
    named = (
        ("path", language.say("total"), [point.total for point in points]),
        ("other-path", language.say("models"), [point.model for point in points]),
        ("plain-dots", language.say("training"), [point.gpu for point in points]),
    )
    return [
        (element("path", class_=kind, d="M-9 0H9"), text)
        for kind, text, values in named
        if any(value is not None for value in values)
    ]
