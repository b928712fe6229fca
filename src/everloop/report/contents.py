"""A whole report, put together from the run document and its history."""

from __future__ import annotations

from dataclasses import replace

from everloop import pictures
from everloop.events import Json
from everloop.language import Language
from everloop.language.vocabulary import N_
from everloop.pictures import Picture
from everloop.report import protocol, results, rounds
from everloop.report.blocks import Block, Drawing, Heading, Paragraph, Report, Section, Table
from everloop.report.headline import headline
from everloop.report.texts import line, moment

REPEATED = "scores"
"""The picture whose figures stand in a table of the report anyway."""
TABLED = 60
"""Most rows of a table behind a picture that the report repeats; longer ones are downloads of the run's page."""


def contents(document: Json, history: Json | None, language: Language) -> Report:
    """What `document` and `history` tell, in the order in which a doubting reader asks for it.

    A history that is None cannot be read, and the report says so.
    """
    drawn = {one.name: _drawn(one, language) for one in pictures.of(document, history, language)}

    def shown(*names: str) -> list[Block]:
        return [block for name in names for block in drawn.get(name, [])]

    sections = [
        protocol.about(document, language),
        results.steps(document, language),
        results.versions(document, language, shown("scores", "families")),
        results.gates(document, language, shown("evidence")),
        protocol.protocol(document, language),
        rounds.listed(document, history, language, shown("timeline")),
        rounds.audits(document, language),
        rounds.approvals(document, language),
        rounds.directives(document, language),
        rounds.spending(document, language, shown("spend")),
        protocol.started_with(document, language),
        _reading(language),
    ]
    say = language.say
    return Report(
        title=say("Report of run %(run)s", run=line(document.get("run"))),
        headline=[*headline(document, language), *_lacking(document, history, language)],
        headline_title=say("What is shown"),
        contents_title=say("Contents"),
        sections=[_filled(one, language) for one in sections],
        footer=say("As the record stood at %(at)s.", at=moment(document.get("updated_at"))),
    )


def _lacking(document: Json, history: Json | None, language: Language) -> list[str]:
    """Says that the past is missing; of a record that cannot be read at all the headline says so already."""
    if history is not None or document.get("state") == "unreadable":
        return []
    text = N_(
        "What is on record of this run's past cannot be read. Evidence, spend and phases below lack it; that does not "
        "mean that there was none."
    )
    return [language.say(text)]


def _filled(section: Section, language: Language) -> Section:
    """A section of tables without rows says that there is nothing, which is not the same as not being told."""
    if any(not isinstance(block, Table) or block.rows for block in section.blocks):
        return section
    return replace(section, blocks=[Paragraph(language.say("None on record."))])


def _drawn(picture: Picture, language: Language) -> list[Block]:
    if not picture.svg:
        return [Heading(picture.title), Paragraph(picture.told)]
    if picture.name == REPEATED or len(picture.rows) <= TABLED:
        return [Drawing(picture, tabled=picture.name != REPEATED)]
    text = N_("The table behind this picture has %(n)s rows; the run's page in the console gives it as CSV.")
    return [Drawing(picture, tabled=False), Paragraph(language.say(text, n=f"{len(picture.rows):,}"))]


def _reading(language: Language) -> Section:
    """What every figure here rests on."""
    say = language.say
    texts = [
        say("“—” stands for what is not on record; it is never zero."),
        say("A score is a mean over n items with its 95 % interval. Missing items were asked and gave no answer."),
        say(
            "Log e is the natural logarithm of an e-value over the pairs that one side won: where the two are equally "
            "good, the chance that it ever reaches the threshold is at most alpha, however often one looks."
        ),
        say(
            "The control arm was trained with as many steps and rows as the loop, by the same recipe, without the "
            "loop's choices. What it reaches is what training longer brings."
        ),
        say(
            "“Best version”, gates and audits are what the loop reports of itself. Before an improvement is claimed "
            "elsewhere, look at what the sets cover and at the protocol."
        ),
    ]
    return Section("reading", say("How to read this"), [Paragraph(text) for text in texts])
