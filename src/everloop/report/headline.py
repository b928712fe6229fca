"""The first lines of a report: what is shown against v0 and against the control arm, or that nothing is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from everloop.events import Json
from everloop.fields import figure, interval, number, part, parts
from everloop.language import Language
from everloop.language.vocabulary import N_, term
from everloop.report.texts import line, log_e
from everloop.report.verdict import deciding, verdict


def headline(document: Json, language: Language) -> list[str]:
    """Sentences, the most important first. Nothing is claimed that no gate on fresh items has ruled on."""
    shown = verdict(document, language)
    if document.get("state") == "unreadable":
        return [shown.claim]
    told = (shown.claim, _scores(document, language), shown.more, shown.control)
    return [*(sentence for sentence in told if sentence), *_state(document, language)]


def _scores(document: Json, language: Language) -> str | None:
    """The two means and the evidence behind the claim; None where no version but v0 was measured by a gate."""
    gate = deciding(document)
    if gate is None or gate.get("candidate") == "v0":
        return None
    version, base = line(gate.get("candidate")), line(gate.get("baseline"))
    return language.say(
        "On those items %(version)s scores %(mean)s and %(base)s %(base_mean)s; log e is %(log_e)s where "
        "%(threshold)s was needed.",
        version=version,
        base=base,
        mean=_scored(document, version, gate, "mean"),
        base_mean=_scored(document, base, gate, "baseline_mean"),
        **_evidence(gate),
    )


def _state(document: Json, language: Language) -> Iterator[str]:
    """What else a reader must know before quoting the above."""
    if document.get("mode") == "dry":
        yield language.say("This was a dry run: nothing was trained, what was changed is the prompt of a fixed model.")
    state, rounds = document.get("state"), (line(document.get("round")), line(document.get("rounds_target")))
    if state in ("starting", "running"):
        yield language.say(
            "The run is still going on, at round %(round)s of %(target)s.", round=rounds[0], target=rounds[1]
        )
    elif state != "finished":
        text = N_("The run stands at round %(round)s of %(target)s; its state is: %(state)s.")
        yield language.say(text, state=term(language, state), round=rounds[0], target=rounds[1])
    error = part(document, "error")
    if error:
        text = N_("The loop's own reason: %(code)s, %(message)s.")
        message = line(error.get("message")).rstrip(".")
        yield language.say(text, code=line(error.get("code")), message=message)
    bound = number(part(document, "protocol"), "false_claim_bound")
    if bound:
        text = N_("The chance that any claim made so far is false is at most %(bound)s, by its protocol.")
        yield language.say(text, bound=f"{bound:.4g}")


def _evidence(gate: Json) -> dict[str, str]:
    found = part(gate, "evidence")
    return {name: log_e(found, name) for name in ("log_e", "threshold")}


def _scored(document: Json, subject: str, gate: Json, name: str) -> str:
    """A mean of the final gate with the interval that its score has on record."""
    mean = number(gate, name)
    for score in parts(_subject(document, subject), "scores"):
        known = number(score, "mean")
        same = known is not None and mean is not None and abs(known - mean) < 1e-4
        if same and (score.get("set"), score.get("split")) == ("blind", "all"):
            return f"{figure(mean)} {interval(number(score, 'low'), number(score, 'high'))}"
    return figure(mean)


def _subject(document: Json, subject: str) -> Json:
    if subject == "control":
        return part(document, "control")
    found: Sequence[Json] = [one for one in parts(document, "versions") if one.get("version") == subject]
    return found[0] if found else {}
