"""The report as Markdown: the same words and tables; pictures are told, with the figures behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from everloop.events import Json
from everloop.language import Language
from everloop.report.blocks import Block, Drawing, Facts, Heading, Paragraph, Section, Table, Verbatim
from everloop.report.cells import tabled
from everloop.report.contents import contents

_SPECIAL = re.compile(r"[\\`*<|~$]|(?<!\w)_|_(?!\w)|\](?=[(\[:])")
_BEGINNING = re.compile(r"^(?:[-+#=]+(?=\s|$)|>)")
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")


def markdown(document: Json, history: Json | None, language: Language) -> str:
    """A report of the run document; `history` is that of ``/history``, None where it cannot be read."""
    report = contents(document, history, language)
    told = [f"# {escaped(report.title)}", f"## {escaped(report.headline_title)}", *map(escaped, report.headline)]
    told += [part for section in report.sections for part in _section(section)]
    return "\n\n".join([*told, "---", escaped(report.footer)]) + "\n"


def escaped(text: str) -> str:
    """A text in one line, none of whose characters Markdown takes for its own."""
    flat = _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()).replace("&", "&amp;"))
    return _NUMBERED.sub(r"\1\\\2", _BEGINNING.sub(r"\\\g<0>", flat))


def _section(section: Section) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text):
            yield escaped(text)
        case Heading(text):
            yield f"### {escaped(text)}"
        case Facts(rows):
            yield "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in rows)
        case Verbatim(title, text):
            yield escaped(title)
            yield _fenced(text)
        case Table():
            yield from _table(block)
        case Drawing(picture, with_table):
            yield f"### {escaped(picture.title)}"
            yield escaped(picture.told)
            if with_table:
                yield from _table(tabled(picture))


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    yield f"**{escaped(table.caption)}**"
    rules = ["---:" if column.figures else "---" for column in table.columns]
    yield "\n".join(
        [_row(column.title for column in table.columns), "| " + " | ".join(rules) + " |", *map(_row, table.rows)]
    )


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"


def _fenced(text: str) -> str:
    """The text between fences that are longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
