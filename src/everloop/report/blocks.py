"""What a report is made of, before it is HTML or Markdown: sections of few kinds of blocks.

All words are in the reader's language already. Texts are plain: whoever writes them out escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloop.pictures import Picture


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text."""

    text: str
    """Its words."""
    strong: bool = False
    """Whether it is one of those that a reader must not miss."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text with its own lines, such as a diff."""

    title: str
    """What it is."""
    text: str
    """Its lines."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    rows: Sequence[tuple[str, str]]
    """Name and value, in order."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    """Heading."""
    figures: bool = False
    """Whether it holds numbers, which stand at the right."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; one without rows is left out of the report."""

    caption: str
    """What it shows."""
    columns: Sequence[Column]
    """Its columns; the first one names the row."""
    rows: Sequence[Sequence[str]]
    """Its cells, written out."""
    folded: bool = False
    """Whether a reader opens it first, where that can be done."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture with its table."""

    picture: Picture
    """The picture."""
    tabled: bool
    """Whether the table behind it is part of the report."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str
    """Its words."""


Block = Paragraph | Verbatim | Facts | Table | Drawing | Heading


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    key: str
    """Short name, for links within the report."""
    title: str
    """Heading."""
    blocks: Sequence[Block]
    """What it holds; a section without any is left out."""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report."""

    title: str
    """What it is called."""
    headline: Sequence[str]
    """What is shown and what is not, the most important first."""
    headline_title: str
    """Heading of that."""
    contents_title: str
    """Heading of the list of sections."""
    sections: Sequence[Section]
    """Everything else."""
    footer: str
    """Last line."""
