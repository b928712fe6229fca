"""Jinja2 environments for templates in a language: words escaped, what is missing shown as "—" and never an error.

``{{ _("text") }}``, ``{{ _("%(n)s of %(all)s", n=.., all=..) }}`` and ``ngettext`` are translated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import cast

from jinja2 import BaseLoader, ChainableUndefined, Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from everloop.events import JsonValue
from everloop.fields import MISSING, clean, clock, dollars, figure, interval, moment
from everloop.language.catalogue import Language
from everloop.language.happenings import happened
from everloop.language.refusals import refusal
from everloop.language.vocabulary import phase, term


class Missing(ChainableUndefined):
    """A field that a document does not have: shown as "—", empty as a list, false as a condition."""

    def __str__(self) -> str:
        return MISSING

    def __html__(self) -> str:
        return MISSING


def environment(loader: BaseLoader, language: Language) -> Environment:
    """An environment whose templates speak `language`; each text that they show is `clean`, None is "—".

    Filters: ``figure`` (``.3f`` or another form), ``interval`` of a pair, ``dollars``, ``when`` (a ``<time>`` in UTC),
    ``term`` (a fixed word of ours: state, decision, kind ...), ``phase`` (one of a run), ``sentence``, ``happened`` (an
    event's text) and ``refusal`` (an error's), as far as their patterns are known.
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
    for name in ("gettext", "ngettext"):
        made.globals[name] = _sentences(cast(Callable[..., str], made.globals[name]))
    made.globals["language"] = language
    made.filters |= {
        "figure": _figure,
        "interval": _interval,
        "dollars": lambda value: dollars(_number(value)),
        "when": when,
        "term": partial(term, language),
        "phase": partial(phase, language),
        "sentence": _sentence,
        "happened": lambda text: happened(language, text) if isinstance(text, str) else text,
        "refusal": lambda text: refusal(language, text) if isinstance(text, str) else text,
    }
    return made


def when(value: JsonValue | Missing) -> str:
    """A time as HTML, in UTC with its zone; the browser makes it local. "—" without one."""
    at = None if isinstance(value, Missing) else moment(value)
    if at is None:
        return MISSING
    exact = at.replace(tzinfo=None).isoformat(timespec="microseconds")
    return Markup('<time datetime="{}Z">{}</time>').format(exact, clock(at))


def _finalize(value: object) -> object:
    """What is shown of a value; HTML of ours stays as it is."""
    if value is None:
        return MISSING
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _sentences(translate: Callable[..., str]) -> Callable[..., str]:
    """A gettext function of templates that puts into a sentence what would be shown outside of one."""

    @pass_context
    def said(context: Context, *texts: object, **values: object) -> str:
        return translate(context, *texts, **{name: _finalize(value) for name, value in values.items()})

    return said


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


def _sentence(text: str) -> str:
    """The words of an error as a sentence, with the full stop of their own script."""
    text = text.strip()
    if text.endswith((".", "?", "!", "。", "？", "！")):
        return f"{text[:1].upper()}{text[1:]}"
    ends = (text[:1], text[-1:])  # a Chinese sentence may begin or end with a name in Latin letters
    stop = "。" if any("\u3000" <= one <= "\uffef" for one in ends) else "."
    return f"{text[:1].upper()}{text[1:]}{stop}"
