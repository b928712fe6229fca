"""How the run was judged, and what it was started with."""

from __future__ import annotations

from collections.abc import Iterator

from everloop.events import Json, JsonValue
from everloop.fields import MISSING, dollars, figure, number, part, parts
from everloop.language import Language
from everloop.language.vocabulary import N_, term
from everloop.report.blocks import Column, Facts, Paragraph, Section, Table
from everloop.report.texts import count, line, moment

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
        (say("State"), term(language, document.get("state"))),
        (say("Round / target"), rounds),
        (say("Best version"), line(document.get("best_version"))),
        (say("Goal in words"), line(document.get("brief"))),
        (say("Domain"), line(document.get("domain"))),
        (say("Mode"), term(language, document.get("mode"))),
        (say("What is improved"), term(language, document.get("kind"))),
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
        (
            say("Smallest gain that a certification can show, four times in five, if one answer in five differs"),
            _change(found),
        ),
        (say("Chance of any false claim so far, at most"), figure(number(found, "false_claim_bound"), ".4g")),
        (say("Rounds that fresh items last for"), count(found, "rounds_supply")),
        (say("Worst case cost"), dollars(number(found, "worst_case_usd"))),
        (say("Families"), _told(found.get("families"), language)),
        (say("Auditors"), ", ".join(_termed(found.get("auditors"), language)) or MISSING),
        *((say(title), _parameter(found, name, language)) for name, title in _PARAMETERS.items() if name in found),
    ]
    frozen = say("The protocol was frozen and hashed before anything was measured.")
    gate = list(_flat(part(found, "gate"), language))
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
    limits = Table(say("Limits in force"), columns, list(_flat(part(document, "limits"), language)))
    options = Table(say("Options"), columns, list(_flat(part(document, "options"), language)))
    stop = {f"stop.{name}": value for name, value in part(document, "stop").items()}
    goal = {f"goal.{name}": value for name, value in part(document, "goal").items()}
    ends = Table(say("When it ends early"), columns, list(_flat(goal | stop, language)))
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
        [term(language, one.get("set")), *(count(one, name) for name in ("n", "uses", "use_cap"))]
        for one in parts(found, "sets")
    ]
    return Table(say("Sets of items, and how often the newest of each was used"), columns, rows)


def _change(found: Json) -> str:
    return figure(number(found, "minimum_detectable_effect"), ".4f")


def _parameter(found: Json, name: str, language: Language) -> str:
    value = found.get(name)
    return term(language, value) if name == "verifier" else _told(value, language)


def _termed(found: JsonValue, language: Language) -> list[str]:
    return [term(language, one) for one in found] if isinstance(found, list) else []


def _told(value: JsonValue, language: Language) -> str:
    """A value, a flag or a list as it was set: a number is written as it would be set again."""
    if isinstance(value, list):
        return ", ".join(_told(one, language) for one in value) or MISSING
    if isinstance(value, bool):
        return language.say("yes") if value else language.say("no")
    return line(value)


def _flat(found: Json, language: Language, before: str = "") -> Iterator[tuple[str, str]]:
    """Names and values; what lies within an object is named ``object.field``."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, language, f"{before}{name}.")
        else:
            yield line(f"{before}{name}"), _told(value, language)
