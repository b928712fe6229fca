"""How the run was judged, and what it was started with."""

from __future__ import annotations

from collections.abc import Iterator

from everloop.events import Json, JsonValue
from everloop.fields import MISSING, dollars, figure, number, part, parts
from everloop.language import Language
from everloop.language.vocabulary import N_, term
from everloop.report.blocks import Column, Facts, Paragraph, Section, Table
from everloop.report.texts import line, moment

_PARAMETERS = {
    "verifier": N_("Verifier"),
    "setting": N_("Defaults, and why"),
    "floor": N_("Largest fall that a family may have"),
    "floor_evidence": N_("E-value of the losses from which a family has fallen"),
    "rule_share": N_("Least share of well-formed answers"),
    "failure_bound": N_("Largest excess of failed evaluations over the baseline's"),
    "final_alpha": N_("Error level of each claim of a final gate"),
    "trainer": N_("Trainer"),
    "seed": N_("Seed of every draw"),
}


def about(document: Json, language: Language) -> Section:
    """What the run is, and where."""
    say = language.say
    rounds = f"{line(document.get('round'))} / {line(document.get('rounds_target'))}"
    facts = [
        (say("Run"), line(document.get("run"))),
        (say("State"), _term(language, document, "state")),
        (say("Round / target"), rounds),
        (say("Best version"), line(document.get("best_version"))),
        (say("Goal in words"), line(document.get("brief"))),
        (say("Domain"), line(document.get("domain"))),
        (say("Mode"), _term(language, document, "mode")),
        (say("What is improved"), _term(language, document, "kind")),
        (say("Machine"), line(document.get("machine"))),
        (say("Started"), moment(document.get("created_at"))),
        (say("Last change on record"), moment(document.get("updated_at"))),
    ]
    return Section("about", say("The run"), [Facts(facts)])


def protocol(document: Json, language: Language) -> Section:
    """The frozen protocol with its hash, the sets with their use counts, the gate with every parameter."""
    say, found = language.say, part(document, "protocol")
    if not found:
        return Section("protocol", say("Protocol"), [])
    judge = part(found, "judge")
    facts = [
        (say("SHA-256 of the protocol"), line(found.get("sha256"))),
        (say("Judge"), f"{line(judge.get('id'))} {line(judge.get('version'))}"),
        (say("Smallest gain that a certification can show, four times in five"), _change(found)),
        (say("Bound on the chance of any false claim"), figure(number(found, "false_claim_bound"), ".4g")),
        (say("Rounds that fresh items last for"), line(found.get("rounds_supply"))),
        (say("Worst case cost"), dollars(number(found, "worst_case_usd"))),
        (say("Families"), line(_listed(found.get("families")))),
        (say("Auditors"), line(_listed(found.get("auditors")))),
        *((say(title), line(found.get(name))) for name, title in _PARAMETERS.items() if name in found),
    ]
    frozen = say("The protocol was frozen and hashed before anything was measured.")
    gate = list(_flat(part(found, "gate")))
    return Section(
        "protocol",
        say("Protocol"),
        [
            Paragraph(frozen),
            Facts(facts),
            _sets(found, language),
            Table(say("The gate with its parameters"), [Column(say("Parameter")), Column(say("Value"))], gate),
        ],
    )


def started_with(document: Json, language: Language) -> Section:
    """Limits in force and plug-ins."""
    say = language.say
    columns = [Column(say("Key")), Column(say("Value"))]
    limits = Table(say("Limits in force"), columns, list(_flat(part(document, "limits"))))
    options = Table(say("Options"), columns, list(_flat(part(document, "options"))))
    stop = {f"stop.{name}": value for name, value in part(document, "stop").items()}
    goal = {f"goal.{name}": value for name, value in part(document, "goal").items()}
    ends = Table(say("When it ends early"), columns, list(_flat(goal | stop)))
    return Section("options", say("What it was started with"), [limits, options, ends])


def _sets(found: Json, language: Language) -> Table:
    say = language.say
    columns = [
        Column(say("Set")),
        Column(say("Items"), True),
        Column(say("Uses"), True),
        Column(say("Most uses"), True),
    ]
    rows = [
        [_term(language, one, "set"), *(figure(number(one, name), ",.0f") for name in ("n", "uses", "use_cap"))]
        for one in parts(found, "sets")
    ]
    return Table(say("Sets of items, and how often each was used"), columns, rows)


def _change(found: Json) -> str:
    return figure(number(found, "minimum_detectable_effect"), ".4f")


def _listed(found: JsonValue) -> str:
    return ", ".join(line(one) for one in found) if isinstance(found, list) and found else MISSING


def _flat(found: Json, before: str = "") -> Iterator[tuple[str, str]]:
    """Names and values; what lies within an object is named ``object.field``."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            shown = _listed(value) if isinstance(value, list) else line(value)
            yield f"{before}{name}", line(shown)


def _term(language: Language, document: Json, name: str) -> str:
    found = document.get(name)
    return term(language, found if isinstance(found, str) else None)
