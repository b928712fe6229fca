"""What a run has shown, at a glance: one sentence against its base, one against the control arm.

Nothing is called better that no gate on fresh items has ruled on; a run that has shown nothing says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from everloop.events import Json
from everloop.fields import MISSING, figure, interval, number, part, parts, word
from everloop.language import Language
from everloop.language.vocabulary import N_
from everloop.report.texts import count, log_e

ACTIVE = ("starting", "running", "paused")
"""States in which something may still be shown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The two sentences that a page begins with."""

    tone: str
    """``good``: shown; ``warn``: tested and not shown; ``part``: certified, not confirmed; ``wrong``: not readable;
    empty: not tested."""
    claim: str
    """What is shown against the base."""
    more: str | None
    """What the claim does not say of the present best version; None when there is nothing to add."""
    control_tone: str
    """As `tone`, against the control arm."""
    control: str | None
    """What is shown against the control arm; None where there is nothing to compare."""


def verdict(document: Json, language: Language) -> Verdict:
    """What a run document shows."""
    if document.get("state") == "unreadable":
        text = N_("The record of this run cannot be read, so nothing is known of what it has shown.")
        return Verdict("wrong", language.say(text), None, "", None)
    final = _newest(document, "final")
    if final is not None:
        tone, claim = _confirmed(final, language)
        beaten, control = _control(document, final, language)
        return Verdict(tone, claim, _since(document, final, language), beaten, control)
    return _before(document, language)


def deciding(document: Json) -> Json | None:
    """The gate that the claim rests on: the newest final gate, else the newest certification that passed."""
    return _newest(document, "final") or _certified(document)


def _certified(document: Json) -> Json | None:
    found = [one for one in parts(document, "gates") if one.get("gate") == "certification"]
    return next((one for one in reversed(found) if one.get("passed") is True), None)


def _newest(document: Json, gate: str) -> Json | None:
    found = [one for one in parts(document, "gates") if one.get("gate") == gate]
    return found[-1] if found else None


def _confirmed(final: Json, language: Language) -> tuple[str, str]:
    passed = final.get("passed")
    if passed is True:
        text = N_("%(version)s is confirmed better than %(base)s by %(change)s on %(n)s blind items.")
        return "good", language.say(text, **_figures(final, ".3f"))
    if passed is False:
        text = N_("%(version)s is not confirmed: on %(n)s blind items it differs from %(base)s by %(change)s.")
        said = language.say(text, **_figures(final, "+.3f"))
        return "warn", f"{said} {_broken(final, language)}".strip()
    if final.get("candidate") == "v0":
        text = N_(
            "Nothing is shown: no version was certified, and v0 (%(mean)s on %(n)s blind items) is still the best."
        )
        return "", language.say(text, mean=figure(number(final, "mean")), n=count(final, "n"))
    return "", language.say("A final gate was held, but it gave no ruling: nothing is shown.")


def _broken(final: Json, language: Language) -> str:
    found = final.get("violations")
    if not isinstance(found, list) or not found:
        return ""
    return language.say("A constraint was broken: %(reasons)s.", reasons="; ".join(word(one) for one in found[:3]))


def _since(document: Json, final: Json, language: Language) -> str | None:
    """A final gate holds for the version that it saw, not for one that was certified later."""
    best = document.get("best_version")
    if best is None or best == final.get("candidate"):
        return None
    return language.say("%(best)s is the best version since then; no final gate has seen it.", best=word(best))


def _control(document: Json, final: Json, language: Language) -> tuple[str, str | None]:
    beats, change = final.get("beats_control"), figure(number(final, "change_from_control"))
    bounds = interval(number(final, "control_low"), number(final, "control_high"))
    known = {
        "change": change if bounds == MISSING else f"{change} {bounds}",
        "mean": figure(number(final, "control_mean")),
        "n": count(final, "control_n"),
        "log_e": log_e(part(final, "control_evidence")),
        "needed": log_e(part(final, "control_evidence"), "threshold"),
    }
    confirmed = final.get("passed") is True  # else there is no gain to add to, or to explain
    if beats is True:
        also = N_(
            "It is also shown to beat the control arm, which was trained as long without the loop, by %(change)s "
            "(log e %(log_e)s, %(needed)s needed, n=%(n)s)."
        )
        alone = N_(
            "Against the control arm, which was trained as long without the loop, it is shown to be better by "
            "%(change)s (log e %(log_e)s, %(needed)s needed, n=%(n)s)."
        )
        return "good" if confirmed else "warn", language.say(also if confirmed else alone, **known)
    if beats is False:
        gained = N_(
            "It is not shown to beat the control arm (%(mean)s, n=%(n)s), which was trained as long without the loop: "
            "longer training alone may explain the gain."
        )
        neither = N_(
            "Nor is it shown to beat the control arm (%(mean)s, n=%(n)s), which was trained as long without the loop."
        )
        return "warn", language.say(gained if confirmed else neither, **known)
    if document.get("mode") == "dry" or final.get("candidate") == "v0":
        return "", None
    return "", language.say("Nothing is known against the control arm: it was not compared.")


def _before(document: Json, language: Language) -> Verdict:
    """Without a final gate there is at most a certification against the version before."""
    active = document.get("state") in ACTIVE
    newest = _certified(document)
    if newest is None:
        text = N_("Nothing is shown yet.") if active else N_("Nothing was shown.")
        return Verdict("", language.say(text), None, "", None)
    text = N_("%(version)s is certified better than %(base)s by %(change)s on %(n)s fresh pairs.")
    after = (
        N_("It is not confirmed on blind items yet: the final gate, which compares it with v0, is held at the end.")
        if active
        else N_("It was never confirmed on blind items: the run ended without a final gate.")
    )
    control = language.say("Against the control arm nothing is shown yet.") if active else None
    return Verdict("part", language.say(text, **_figures(newest, ".3f")), language.say(after), "", control)


def _figures(gate: Json, form: str) -> dict[str, str]:
    change = figure(number(gate, "change"), form)
    bounds = interval(number(gate, "low"), number(gate, "high"), form)
    return {
        "version": word(gate.get("candidate")),
        "base": word(gate.get("baseline")),
        "change": change if bounds == MISSING else f"{change} {bounds}",
        "n": count(gate, "n"),
    }
