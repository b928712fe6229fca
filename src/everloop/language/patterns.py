"""Texts that were made of a fixed pattern, recognised and told in another language; what is stored stays as it is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from everloop.language.catalogue import Language
from everloop.language.vocabulary import term

_PLACE = re.compile(r"%\((\w+)\)s")
_FORMS = {
    "text": r".*",
    "why": r"[^()]*",
    "candidate": r"r\d+c\d+",
    "decision": r"certified|kept|reverted|rejected|error",
    "state": r"\w+",
    "kind": r"[a-z-]+",
    "names": r"[^\n]*",
}
"""Name of a placeholder -> what may stand there; anything else is one word."""
_WORD = r"\S+"
_TERMS = frozenset({"decision", "state", "kind"})
"""Placeholders whose values are words of ours."""
DEEP = 3
"""Patterns within each other: a round's summary is that of its candidate, which has its own reason."""


class Patterns:
    """Patterns such as ``round %(n)s of %(all)s begins``; of several that fit, the first is taken.

    ``text`` stands for anything, and is recognised in turn; ``decision``, ``state`` and ``kind`` are words of ours.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        # by how they begin: most are passed over without a look
        self._fixed: set[str] = set()
        self._begun: Mapping[str, list[tuple[str, re.Pattern[str]]]] = defaultdict(list)
        for one in patterns:
            if _PLACE.search(one) is None:
                self._fixed.add(one)
            else:
                self._begun[_beginning(one)].append((one, _compiled(one)))

    def said(self, language: Language, text: str, deep: int = DEEP) -> str | None:
        """`text` in that language; None where it is of no pattern."""
        if text in self._fixed:
            return language.say(text)
        for start in (text[:4], ""):
            for pattern, form in self._begun.get(start, ()):
                found = form.fullmatch(text)
                if found is not None:
                    return language.say(pattern, **self._values(language, found.groupdict(), deep))
        return None

    def _values(self, language: Language, values: Mapping[str, str], deep: int) -> dict[str, str]:
        def told(name: str, value: str) -> str:
            if name in _TERMS:
                return term(language, value)
            return (self.said(language, value, deep - 1) or value) if name == "text" and deep > 0 else value

        return {name: told(name, value) for name, value in values.items()}


def _beginning(pattern: str) -> str:
    """The first characters of all texts of the pattern; empty where these differ."""
    fixed = pattern[: pattern.index("%(")]
    return fixed[:4] if len(fixed) >= 4 else ""


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = _PLACE.split(pattern)  # fixed, name, fixed, name, ..., fixed
    named = (f"(?P<{name}>{_FORMS.get(name, _WORD)})" for name in parts[1::2])
    made = re.escape(parts[0]) + "".join(one + re.escape(fixed) for one, fixed in zip(named, parts[2::2], strict=True))
    return re.compile(made, re.DOTALL)
