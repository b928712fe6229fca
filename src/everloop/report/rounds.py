"""What the rounds did and why: decisions, plans, reasons, audits, approvals, directives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from everloop.events import Json
from everloop.fields import MISSING, dollars, number, part, parts
from everloop.language import Language
from everloop.language.vocabulary import N_, term
from everloop.report.blocks import Block, Column, Facts, Heading, Paragraph, Section, Table, Verbatim
from everloop.report.texts import clean, count, line, moment
from everloop.report.why import why

DIFF = 20_000
"""Most characters of a diff; the rest is at the server."""


def listed(document: Json, history: Json | None, language: Language, drawn: list[Block]) -> Section:
    """Every round in one line, oldest first, then the newest ones in full; `drawn`: the picture of their phases."""
    say = language.say
    columns = [Column(say("Round"), True), Column(say("Decision")), Column(say("Version")), Column(say("Began"))]
    columns += [Column(say("Ended")), Column(say("Spend"), True)]
    detailed = {line(one.get("round")): one for one in parts(document, "rounds")}
    known = {line(one.get("round")): one for one in parts(history or {}, "rounds")}
    found = known | {name: known.get(name, {}) | one for name, one in detailed.items()}
    rows = [_row(one, language) for one in sorted(found.values(), key=lambda one: number(one, "round") or 0)]
    total = number(document, "rounds_total")
    told: list[Block] = []
    if total is not None and total > len(detailed):
        text = N_("The record has %(total)s rounds; the newest %(shown)s are told in full below.")
        told.append(Paragraph(say(text, total=count(document, "rounds_total"), shown=f"{len(detailed):,}")))
    table = Table(say("Rounds, oldest first"), columns, rows)
    return Section("rounds", say("Rounds"), [*told, table, *drawn, *_in_full(detailed, language)])


def _row(one: Json, language: Language) -> list[str]:
    spend = number(one, "total_usd")
    cost = spend if spend is not None else number(part(one, "spend"), "total_usd")
    times = [moment(one.get("started_at")), moment(one.get("ended_at"))]
    return [
        line(one.get("round")),
        _decision(one, language),
        line(one.get("version")),
        *times,
        dollars(cost),
    ]


def _in_full(detailed: Mapping[str, Json], language: Language) -> Iterator[Block]:
    for one in sorted(detailed.values(), key=lambda one: number(one, "round") or 0, reverse=True):
        text = N_("Round %(round)s: %(decision)s")
        yield Heading(language.say(text, round=line(one.get("round")), decision=_decision(one, language)))
        for candidate in parts(one, "candidates"):
            yield Paragraph(line(why(candidate, language)))
        if not parts(one, "candidates") and one.get("summary"):
            yield Paragraph(line(one.get("summary")))
        yield from _planned(one, language)
        for candidate in parts(one, "candidates"):
            yield from _proposed(candidate, language)


def _planned(one: Json, language: Language) -> Iterator[Block]:
    say = language.say
    if one.get("plan"):
        yield Facts([(say("Plan"), line(one.get("plan")))])
    names = ("target", "what", "why", "expected", "risk")
    titles = (say("Target"), say("What"), say("Why"), say("Expected"), say("Risk"))
    rows = [[line(change.get(name)) for name in names] for change in parts(one, "interventions")]
    caption = say("Interventions of round %(round)s", round=line(one.get("round")))
    yield Table(caption, [Column(title) for title in titles], rows)


def _proposed(candidate: Json, language: Language) -> Iterator[Block]:
    """Diff and rationale, as the operator gave them."""
    say, proposal = language.say, part(candidate, "proposal")
    rationale = part(proposal, "rationale")
    name = line(candidate.get("candidate"))
    titles = {
        "what": say("What"),
        "why": say("Why"),
        "expected_gain": say("Expected gain"),
        "risks": say("Risks"),
    }
    if rationale:
        yield Facts([(f"{name}: {title}", line(rationale.get(field))) for field, title in titles.items()])
    if proposal.get("diff"):
        diff = clean(proposal.get("diff"))
        yield Verbatim(say("Diff of %(candidate)s", candidate=name), diff[:DIFF] + ("\n…" if len(diff) > DIFF else ""))


def audits(document: Json, language: Language) -> Section:
    """Every review on record, newest round first: what it looked for, the verdict, the reason."""
    say = language.say
    shown = sorted(parts(document, "rounds"), key=lambda one: number(one, "round") or 0, reverse=True)
    found = [review for one in shown for made in parts(one, "candidates") for review in parts(made, "reviews")]
    columns = [Column(say("Kind")), Column(say("Candidate")), Column(say("Verdict")), Column(say("Reason"))]
    rows = [_review(one, language) for one in found or parts(document, "reviews")]
    table = Table(say("Audits of the candidates in the rounds above"), [*columns, Column(say("Time"))], rows)
    return Section("audits", say("Audits"), [table])


def _review(one: Json, language: Language) -> list[str]:
    verdicts = {True: language.say("passed"), False: language.say("rejected")}
    passed = one.get("passed")
    verdict = verdicts[passed] if isinstance(passed, bool) else MISSING
    kind = term(language, one.get("kind"))
    return [kind, line(one.get("version")), verdict, line(one.get("reason")), moment(one.get("at"))]


def approvals(document: Json, language: Language) -> Section:
    """What people were asked and what they said."""
    say = language.say
    titles = (
        say("Approval"),
        say("Candidate"),
        say("State"),
        say("Reason"),
        say("Decided by"),
        say("Asked"),
        say("Decided"),
    )
    rows = [
        [
            line(one.get("approval_id")),
            line(one.get("candidate")),
            term(language, one.get("state")),
            line(one.get("reason")),
            line(one.get("decided_by")),
            moment(one.get("created_at")),
            moment(one.get("decided_at")),
        ]
        for one in parts(document, "approvals")
    ]
    table = Table(say("Certifications that a person was asked about"), [Column(title) for title in titles], rows)
    return Section("approvals", say("Approvals"), [table])


def directives(document: Json, language: Language) -> Section:
    """The owner's standing instructions, as they were given."""
    say = language.say
    rows = [
        [moment(one.get("at")), line(one.get("author")), line(one.get("text"))] for one in parts(document, "directives")
    ]
    columns = [Column(say("Time")), Column(say("Author")), Column(say("Directive"))]
    return Section("directives", say("Owner's directives"), [Table(say("Directives, oldest first"), columns, rows)])


def spending(document: Json, language: Language, drawn: list[Block]) -> Section:
    """Money and requests beside their caps; `drawn`: the picture of it."""
    say, spend, limits = language.say, part(document, "spend"), part(document, "limits")
    columns = [Column(say("What")), Column(say("Used"), True), Column(say("Cap"), True)]
    money = [
        (say("Models"), "model_usd", "model_usd_cap"),
        (say("GPU training"), "gpu_usd", ""),
        (say("All together"), "total_usd", "usd_cap"),
    ]
    rows = [[name, dollars(number(spend, used)), dollars(number(limits, cap))] for name, used, cap in money]
    counts = [
        (say("Requests to operator and auditor models"), "model_requests", "model_request_cap"),
        (say("Requests to the student"), "student_requests", "student_request_cap"),
    ]
    rows += [[name, count(spend, used), count(limits, cap)] for name, used, cap in counts]
    note = say("Rounds, the loop's spend and estimates of training count different things and need not add up.")
    table = Table(say("Spend of the run beside its caps"), columns, rows)
    return Section("spend", say("Spend"), [table, Paragraph(note), *drawn])


def _decision(one: Json, language: Language) -> str:
    return term(language, one.get("decision"))
