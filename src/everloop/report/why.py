"""Why a candidate was decided as it was: one sentence, made from the record and nothing else.

What stands on record in words (reasons of auditors and constraints) is quoted as it is; figures come from the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from everloop.events import Json
from everloop.fields import figure, number, part, parts
from everloop.language import Language
from everloop.language.vocabulary import N_, term
from everloop.report.texts import count, line, log_e

QUOTED = 3
"""Most reasons that the sentence quotes."""
LENGTH = 300
"""Most characters of one reason."""
_BEFORE = ("allow-list:", "data:")
_NOT_SHOWN = N_("%(candidate)s was not shown to beat %(against)s: %(figures)s.")
_UNSHOWN = {
    "futility": N_(
        "%(candidate)s was not shown to beat %(against)s, and the test stopped because it would hardly get there: "
        "%(figures)s."
    ),
    "budget": N_("%(candidate)s was not shown to beat %(against)s with all the pairs it could use: %(figures)s."),
}
_PRE_TEST = ("clearly worse than the head", "no item was answered by both")


def why(candidate: Json, language: Language) -> str:
    """One sentence on the decision of an element of ``rounds[].candidates``; what is not on record is said to be so."""
    decision = candidate.get("decision")
    tell = _TOLD.get(decision) if isinstance(decision, str) else None
    if tell is not None:
        return tell(candidate, language)
    return language.say("%(candidate)s is not decided yet.", candidate=_name(candidate))


def _certified(candidate: Json, language: Language) -> str:
    if not part(candidate, "certification"):
        return language.say("%(candidate)s was certified; no figures are on record.", candidate=_name(candidate))
    text = N_("%(candidate)s was certified against %(against)s on fresh items: %(figures)s.")
    return language.say(text, **_compared(candidate, language))


def _kept(candidate: Json, language: Language) -> str:
    if part(candidate, "certification"):
        # it was compared later, as the working head, when its round had been decided
        shown = part(candidate, "certification").get("stopped") == "shown"
        text = (
            N_("%(candidate)s became the working head; compared later with %(against)s it was ahead: %(figures)s.")
            if shown
            else N_("%(candidate)s became the working head; later it was not shown to beat %(against)s: %(figures)s.")
        )
        return language.say(text, **_compared(candidate, language))
    if number(part(candidate, "screen"), "pairs") is None:
        text = N_("%(candidate)s became the working head; no screen is on record, and it is not certified.")
        return language.say(text, candidate=_name(candidate))
    text = N_(
        "%(candidate)s became the working head, not yet certified: its screen gave %(estimate)s where %(threshold)s "
        "was needed, %(wins)s won and %(losses)s lost of %(pairs)s pairs."
    )
    return language.say(text, **_screened(candidate))


def _reverted(candidate: Json, language: Language) -> str:
    found = part(candidate, "certification")
    if not found:
        return _quoting(N_("%(candidate)s was not certified: %(reasons)s."), candidate, _reasons(candidate), language)
    if found.get("stopped") == "shown":
        text = N_("%(candidate)s was ahead of %(against)s (%(figures)s), but was not certified: %(reasons)s.")
        return language.say(text, **_compared(candidate, language), reasons=_quoted(_reasons(candidate), language))
    text = _UNSHOWN.get(line(found.get("stopped")), _NOT_SHOWN)
    return language.say(text, **_compared(candidate, language))


def _rejected(candidate: Json, language: Language) -> str:
    failed = [one for one in parts(candidate, "reviews") if one.get("passed") is False]
    reasons = _reasons(candidate)
    if reasons and reasons[0].startswith(_BEFORE):
        text = N_("%(candidate)s was rejected before anything was built: %(reasons)s.")
    elif failed:
        return _reviewed(candidate, failed, language)
    elif reasons and reasons[0].startswith(_PRE_TEST):
        text = N_("%(candidate)s was rejected by the pre-test: %(reasons)s.")
    elif number(part(candidate, "screen"), "pairs") is not None:
        return _dropped(candidate, language)
    else:
        text = N_("%(candidate)s was rejected: %(reasons)s.")
    return _quoting(text, candidate, reasons, language)


def _reviewed(candidate: Json, failed: Sequence[Json], language: Language) -> str:
    told = [f"{term(language, one.get('kind'))}: {line(one.get('reason'))}" for one in failed]
    return language.count(
        "%(candidate)s was rejected by an audit: %(reasons)s.",
        "%(candidate)s was rejected by %(n)s audits: %(reasons)s.",
        len(told),
        candidate=_name(candidate),
        reasons=_quoted(told, language),
    )


def _dropped(candidate: Json, language: Language) -> str:
    screen = part(candidate, "screen")
    estimate, threshold = number(screen, "estimate"), number(screen, "threshold")
    ahead = (number(screen, "wins") or 0) > (number(screen, "losses") or 0)
    if not ahead and estimate is not None and threshold is not None and estimate >= threshold:
        text = N_(
            "%(candidate)s was rejected by the screen: it was not ahead of the working head, %(wins)s won and "
            "%(losses)s lost of %(pairs)s pairs."
        )
    else:
        text = N_(
            "%(candidate)s was rejected by the screen: it gave %(estimate)s where %(threshold)s was needed, %(wins)s "
            "won and %(losses)s lost of %(pairs)s pairs."
        )
    return language.say(text, **_screened(candidate))


def _failed(candidate: Json, language: Language) -> str:
    text = N_("%(candidate)s could not be judged, which is no verdict on it: %(reasons)s.")
    return _quoting(text, candidate, _reasons(candidate), language)


_TOLD: dict[str, Callable[[Json, Language], str]] = {
    "certified": _certified,
    "kept": _kept,
    "reverted": _reverted,
    "rejected": _rejected,
    "error": _failed,
}


def _name(candidate: Json) -> str:
    return line(candidate.get("candidate"))


def _screened(candidate: Json) -> dict[str, str]:
    screen = part(candidate, "screen")
    return {
        "candidate": _name(candidate),
        "estimate": figure(number(screen, "estimate"), "+.3f"),
        "threshold": figure(number(screen, "threshold"), "+.3f"),
        **{name: count(screen, name) for name in ("wins", "losses", "pairs")},
    }


def _compared(candidate: Json, language: Language) -> dict[str, str]:
    found = part(candidate, "certification")
    against = line(found.get("against"))
    return {"candidate": _name(candidate), "against": against, "figures": compared(found, language)}


def compared(certification: Json, language: Language) -> str:
    """The figures of a ``certification`` object in words, to stand after a colon."""
    counts = {name: count(certification, name) for name in ("wins", "losses", "pairs")}
    if number(certification, "log_e") is None:
        return language.say("%(wins)s won and %(losses)s lost of %(pairs)s pairs, no e-value", **counts)
    text = N_("%(wins)s won and %(losses)s lost of %(pairs)s pairs, log e %(log_e)s where %(threshold)s was needed")
    return language.say(text, **counts, log_e=log_e(certification), threshold=log_e(certification, "threshold"))


def _reasons(candidate: Json) -> list[str]:
    found = candidate.get("reasons")
    return [one for one in found if isinstance(one, str) and one.strip()] if isinstance(found, list) else []


def _quoting(text: str, candidate: Json, reasons: Sequence[str], language: Language) -> str:
    return language.say(text, candidate=_name(candidate), reasons=_quoted(reasons, language))


def _quoted(reasons: Sequence[str], language: Language) -> str:
    """The first reasons in one line, without the full stop that the sentence has itself."""
    if not reasons:
        return language.say("no reason is on record")
    told = "; ".join(_short(one) for one in reasons[:QUOTED])
    more = len(reasons) - QUOTED
    return told if more <= 0 else language.say("%(told)s; and %(n)s more", told=told, n=more)


def _short(text: str) -> str:
    told = " ".join(text.split()).rstrip(".。")
    return told if len(told) <= LENGTH else f"{told[: LENGTH - 1]}…"
