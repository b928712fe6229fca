"""The report as one HTML file that needs nothing else: no script, no address outside it, fit to be printed."""

from __future__ import annotations

from jinja2 import PackageLoader
from markupsafe import Markup

from everloop.events import Json
from everloop.language import LANGUAGES, Language, environment
from everloop.pictures import PALETTE, RULES, WIDER, Picture
from everloop.report.blocks import Block
from everloop.report.cells import tabled
from everloop.report.contents import contents

STYLES = Markup(PALETTE + RULES + WIDER)  # noqa: S704 - texts of our own
"""Colours of the whole report, and how its pictures look."""
_environments = {tag: environment(PackageLoader("everloop.report"), one) for tag, one in LANGUAGES.items()}


def html(document: Json, history: Json | None, language: Language) -> str:
    """A report of the run document; `history` is that of ``/history``, None where it cannot be read."""
    template = _environments[language.tag].get_template("report.html")
    report = contents(document, history, language)
    return template.render(report=report, styles=STYLES, kind=_kind, drawn=_drawn, tabled=tabled)


def _kind(block: Block) -> str:
    """Which part of the template writes it."""
    return type(block).__name__.lower()


def _drawn(picture: Picture) -> Markup:
    """The SVG element; what of it comes from the record was escaped where it was drawn."""
    return Markup(picture.svg)  # noqa: S704 - see above
