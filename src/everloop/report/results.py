"""What was measured: steps, versions with their scores, the control arm, gates, claims."""

from __future__ import annotations

from collections.abc import Iterator

from everloop.events import Json
from everloop.fields import MISSING, figure, interval, number, part, parts
from everloop.language import Language
from everloop.language.vocabulary import term
from everloop.report.blocks import Block, Column, Paragraph, Section, Table
from everloop.report.texts import count, line, log_e, moment

HASH = 12
"""Characters of an artifact's hash."""


def steps(document: Json, language: Language) -> Section:
    """The steps of the classic example, each with its note."""
    say = language.say
    rows = [
        [term(language, one.get("step")), say("yes") if one.get("done") is True else say("no"), line(one.get("note"))]
        for one in parts(document, "steps")
    ]
    table = Table(say("What the run got to"), [Column(say("Step")), Column(say("Done")), Column(say("Note"))], rows)
    return Section("steps", say("Steps"), [table])


def versions(document: Json, language: Language, drawn: list[Block]) -> Section:
    """Versions and the control arm, each with its scores; `drawn`: the pictures of them."""
    say = language.say
    columns = [Column(say("Version")), Column(say("Parent")), Column(say("Round"), True), Column(say("Candidate"))]
    columns += [Column(say("Training rows"), True), Column(say("Artifact")), Column("SHA-256")]
    rows = [_version(one) for one in parts(document, "versions")]
    control = part(document, "control")
    if control:
        rows.append([term(language, "control"), *([MISSING] * 3), *_artifact(control)])
    made = Table(say("Versions and what they are made of"), columns, rows)
    return Section("versions", say("Versions"), [*drawn, *_scores(document, language), made])


def _version(one: Json) -> list[str]:
    named = [line(one.get(name)) for name in ("version", "parent", "round", "candidate")]
    return [*named, *_artifact(one)]


def _artifact(one: Json) -> list[str]:
    artifact = part(one, "artifact")
    sha256 = line(artifact.get("sha256"))
    return [count(one, "rows"), line(artifact.get("type")), sha256[:HASH]]


def _scores(document: Json, language: Language) -> Iterator[Table]:
    """Over all families, and then family by family."""
    say = language.say
    figures = [Column(say("Mean"), True), Column(say("95 % interval"), True), Column("n", True)]
    figures.append(Column(say("Missing"), True))
    named = [Column(say("Version")), Column(say("Set"))]
    measured = [(line(one.get("version")), one) for one in parts(document, "versions")]
    measured.append((term(language, "control"), part(document, "control")))
    found = [(name, score) for name, one in measured for score in parts(one, "scores")]
    whole = [_score(name, score, language) for name, score in found if score.get("split") == "all"]
    yield Table(say("Scores over all families, on every set that was measured"), [*named, *figures], whole)
    by_family = [_score(name, score, language, one=True) for name, score in found if score.get("split") != "all"]
    yield Table(say("Scores of every family"), [*named, Column(say("Family")), *figures], by_family, folded=True)


def _score(name: str, score: Json, language: Language, *, one: bool = False) -> list[str]:
    """A row; `one`: it is of one family, which is named."""
    family = [line(score.get("split"))] if one else []
    ends = interval(number(score, "low"), number(score, "high"))
    counts = [count(score, name) for name in ("n", "missing")]
    return [name, term(language, score.get("set")), *family, figure(number(score, "mean")), ends, *counts]


def gates(document: Json, language: Language, drawn: list[Block]) -> Section:
    """Certifications and final gates, with claims; `drawn`: the picture of the evidence."""
    say = language.say
    columns = [Column(say("Gate")), Column(say("Candidate")), Column(say("Against")), Column(say("Passed"))]
    columns += [Column(say("Mean"), True), Column(say("Mean of the other"), True), Column(say("Change"), True)]
    columns += [Column(say("95 % interval"), True), Column("n", True), Column("Log e", True)]
    columns += [Column(say("Needed"), True), Column(say("Time"))]
    rows = [row for one in parts(document, "gates") for row in _gate(one, language)]
    table = Table(say("Gates: measured on fresh items that nobody had seen"), columns, rows)
    broken = [
        Paragraph(say("%(gate)s of %(candidate)s: %(reasons)s", **told)) for told in _violations(document, language)
    ]
    return Section("gates", say("Gates and claims"), [table, *broken, _claims(document, language), *drawn])


def _gate(one: Json, language: Language) -> Iterator[list[str]]:
    """One row; a second one where the candidate was compared with the control arm too."""
    named = [term(language, one.get("gate")), line(one.get("candidate"))]
    n, at = count(one, "n"), moment(one.get("at"))
    mean, ends = figure(number(one, "mean")), interval(number(one, "low"), number(one, "high"), "+.3f")
    base = [figure(number(one, "baseline_mean")), figure(number(one, "change"), "+.3f"), ends]
    first = [*named, line(one.get("baseline")), _flag(one, "passed", language), mean, *base, n]
    yield [*first, *_evidence(one, "evidence"), at]
    if number(one, "control_mean") is not None:
        change = figure(number(one, "change_from_control"), "+.3f")
        ends = interval(number(one, "control_low"), number(one, "control_high"), "+.3f")
        arm, n = [figure(number(one, "control_mean")), change, ends], count(one, "control_n")
        control, beats = term(language, "control"), _flag(one, "beats_control", language)
        yield [*named, control, beats, mean, *arm, n, *_evidence(one, "control_evidence"), at]


def _violations(document: Json, language: Language) -> Iterator[dict[str, str]]:
    for one in parts(document, "gates"):
        found = one.get("violations")
        if isinstance(found, list) and found:
            reasons = "; ".join(line(reason) for reason in found)
            gate = term(language, one.get("gate"))
            yield {"gate": gate, "candidate": line(one.get("candidate")), "reasons": reasons}


def _claims(document: Json, language: Language) -> Table:
    say = language.say
    columns = [Column(say("Claim")), Column(say("Candidate")), Column(say("Against")), Column(say("Outcome"))]
    columns += [Column("alpha", True), Column(say("Time"))]
    rows = [
        [
            term(language, one.get("claim")),
            line(one.get("candidate")),
            line(one.get("against")),
            term(language, one.get("outcome")),
            figure(number(one, "alpha"), ".4g"),
            moment(one.get("at")),
        ]
        for one in parts(document, "claims")
    ]
    return Table(say("Claims: each is shown or it is not"), columns, rows)


def _flag(one: Json, name: str, language: Language) -> str:
    found = one.get(name)
    if not isinstance(found, bool):
        return MISSING
    return language.say("yes") if found else language.say("no")


def _evidence(one: Json, name: str) -> list[str]:
    found = part(one, name)
    return [log_e(found, name) for name in ("log_e", "threshold")]
