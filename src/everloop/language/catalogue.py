"""A language and its catalogue of translations; English stands in the code and needs none."""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TRANSLATIONS = Path(__file__).parent / "translations"
"""Folder of the catalogues: ``zh_CN/LC_MESSAGES/everloop.po`` is committed, ``.mo`` is built from it."""
DOMAIN = "everloop"
"""Name of the catalogue's files."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language of pages and reports."""

    tag: str
    """BCP 47 tag, as the ``lang`` attribute has it."""
    name: str
    """What its speakers call it."""
    translations: gettext.NullTranslations = field(default_factory=gettext.NullTranslations, repr=False, compare=False)
    """Its catalogue."""

    def say(self, text: str, /, **values: object) -> str:
        """`text` in this language; ``%(name)s`` in it stand for values."""
        said = self.translations.gettext(text)
        return said % values if values else said

    def count(self, one: str, many: str, n: int, /, **values: object) -> str:
        """`one` or `many` by the language's own rule for `n`, which stands for ``%(n)s``."""
        return self.translations.ngettext(one, many, n) % {"n": n, **values}


ENGLISH = Language("en", "English")
"""The language of the code."""


def built(folder: Path) -> Mapping[str, Language]:
    """Tag -> language, of English and each whose catalogue is built there: no page is said to be in another."""
    made = {ENGLISH.tag: ENGLISH}
    for tag, name in (("zh-CN", "中文"),):
        locale = tag.replace("-", "_")
        if gettext.find(DOMAIN, folder, [locale]) is not None:
            made[tag] = Language(tag, name, gettext.translation(DOMAIN, folder, [locale]))
    return made


LANGUAGES = built(TRANSLATIONS)
"""Tag -> language."""


def chosen(tag: str | None, accepted: str) -> Language:
    """The language a reader switched to, else the first of ``Accept-Language`` that there is, else English."""
    if tag is not None and tag in LANGUAGES:
        return LANGUAGES[tag]
    return next((found for wanted in _wanted(accepted) if (found := _matching(wanted)) is not None), ENGLISH)


def _wanted(accepted: str) -> list[str]:
    """Tags of the header, the most wanted first; a weight that is no number counts as none."""
    weighted = []
    for place, one in enumerate(accepted[:512].split(",")):
        tag, _, parameter = one.strip().partition(";")
        weight = parameter.strip().removeprefix("q=") or "1"
        number = float(weight) if weight.replace(".", "", 1).isdigit() and weight.isascii() else 0.0
        if tag and number > 0:
            weighted.append((-number, place, tag.strip()))
    return [tag for _, _, tag in sorted(weighted)]


def _matching(wanted: str) -> Language | None:
    base = wanted.lower().partition("-")[0]
    return next((one for tag, one in LANGUAGES.items() if tag.partition("-")[0] == base), None)
