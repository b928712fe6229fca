"""What the picture ``scores`` is drawn from: versions and the control arm, each with its score on the strongest set."""

from __future__ import annotations

from dataclasses import dataclass

from everloop.events import Json
from everloop.fields import figure, interval, main_score, number, part, parts, word
from everloop.language import Language
from everloop.language.vocabulary import term
from everloop.pictures.axis import drawable


@dataclass(frozen=True, slots=True)
class Bar:
    """One column of the picture."""

    name: str
    """Version; empty for the control arm."""
    round: float | None
    """Round that made it."""
    rows: float | None
    """Training rows behind it."""
    set: str | None
    """Set it was measured on, the strongest there is; blind items are drawn filled, others hollow."""
    mean: float | None
    """Score; None leaves a gap."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    n: float | None
    """Items behind the score."""
    missing: float | None
    """Items whose evaluation failed."""

    @property
    def shape(self) -> str:
        """What it is drawn as: ``control``, ``blind`` or ``other``."""
        return "control" if not self.name else "blind" if self.set == "blind" else "other"

    def called(self, language: Language) -> str:
        """Its name in the picture."""
        return self.name or language.say("control arm")

    def told(self, language: Language) -> str:
        """The column in words."""
        if self.mean is None:
            return language.say("%(name)s: not measured", name=self.called(language))
        return language.say(
            "%(name)s: %(mean)s %(interval)s, n = %(n)s %(set)s items",
            name=self.called(language),
            mean=figure(self.mean),
            interval=interval(self.low, self.high),
            n=figure(self.n, ",.0f"),
            set=term(language, self.set),
        )


def bars(document: Json) -> list[Bar]:
    """Versions in order and, last, the control arm when there is one."""
    named = [(word(version.get("version")), version) for version in parts(document, "versions")]
    control = part(document, "control")
    return [_bar(name, one) for name, one in [*named, *([("", control)] if control else [])]]


def _bar(name: str, scored: Json) -> Bar:
    score = main_score(scored) or {}
    set_name = score.get("set")
    figures = (drawable(number(score, field)) for field in ("mean", "low", "high", "n", "missing"))
    return Bar(
        name, number(scored, "round"), number(scored, "rows"), set_name if isinstance(set_name, str) else None, *figures
    )
