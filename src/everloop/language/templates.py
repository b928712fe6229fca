"""Jinja2 environments for templates in a language: words escaped, what is missing shown as "—" and never an error.

``{{ _("text") }}``, ``{{ _("%(n)s of %(all)s", n=.., all=..) }}`` and ``ngettext`` are translated.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite

from jinja2 import BaseLoader, ChainableUndefined, Environment
from markupsafe import Markup

from everloop.events import JsonValue
from everloop.fields import MISSING, dollars, figure, interval
from everloop.language.catalogue import Language
from everloop.language.vocabulary import term


class Missing(ChainableUndefined):
    """A field that a document does not have: shown as "—", empty as a list, false as a condition."""

    def __str__(self) -> str:
        return MISSING

    def __html__(self) -> str:
        return MISSING


def environment(loader: BaseLoader, language: Language) -> Environment:
    """An environment whose templates speak `language`.

    Filters: ``figure`` (``.3f`` or another form), ``interval`` of a pair, ``dollars``, ``when`` (a ``<time>`` in UTC),
    ``term`` (a fixed word of ours: state, decision, phase ...), ``sentence``.
    """
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=Missing,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
        finalize=_finalize,
    )
    found = language.translations
    made.install_gettext_callables(found.gettext, found.ngettext, newstyle=True)  # type: ignore[attr-defined]  # the extension adds it
    made.globals["language"] = language
    made.filters |= {
        "figure": _figure,
        "interval": _interval,
        "dollars": lambda value: dollars(_number(value)),
        "when": when,
        "term": _term(language),
        "sentence": _sentence,
    }
    return made


def when(moment: JsonValue | Missing) -> str:
    """A time as HTML, in UTC with its zone; the browser makes it local. "—" without one."""
    if not isinstance(moment, str) or not moment:
        return MISSING
    try:
        at = datetime.fromisoformat(moment)
        at = at.astimezone(UTC) if at.tzinfo else at
    except (ValueError, OverflowError):
        return MISSING
    return Markup('<time datetime="{}">{} UTC</time>').format(moment, f"{at:%Y-%m-%d %H:%M:%S}")


def _finalize(value: object) -> object:
    return MISSING if value is None else value


def _number(value: object) -> float | None:
    """A finite number; None for anything else, so that no NaN gets onto a page."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if isfinite(value) else None


def _figure(value: object, form: str = ".3f") -> str:
    return figure(_number(value), form)


def _interval(value: object, form: str = ".3f") -> str:
    """Of an object with ``low`` and ``high``."""
    ends = (value.get("low"), value.get("high")) if isinstance(value, dict) else (None, None)
    return interval(_number(ends[0]), _number(ends[1]), form)


def _term(language: Language) -> Callable[[object], str]:
    return lambda word: term(language, word if isinstance(word, str) else None)


def _sentence(text: str) -> str:
    """The words of an error as a sentence, with the full stop of their own script."""
    text = text.strip()
    if text.endswith((".", "?", "!", "。", "？", "！")):
        return f"{text[:1].upper()}{text[1:]}"
    stop = "。" if "\u3000" <= text[-1:] <= "\uffef" else "."
    return f"{text[:1].upper()}{text[1:]}{stop}"
