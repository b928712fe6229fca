"""Words in the reader's language: catalogues by gettext, fixed terms, figures and times, templates that use them."""

from everloop.language.catalogue import ENGLISH, LANGUAGES, Language, chosen
from everloop.language.templates import environment

__all__ = ["ENGLISH", "LANGUAGES", "Language", "chosen", "environment"]
