"""What `Curriculum` understands of an owner's words: a few literal forms, nothing else.

``focus FAMILY[, FAMILY]``, ``avoid FAMILY[, FAMILY]``, ``steps N``, ``rows N``, ``replay X``, ``lr X``; one or several
in a text, separated by line breaks or semicolons; upper and lower case are the same. A later one replaces an earlier
one of the same kind (``avoid`` adds up); of ``focus`` and ``avoid`` of the same family the later one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

MOST_STEPS = 100_000
"""Steps beyond this are taken for a slip of the pen."""
_FORM = re.compile(
    r"(focus|avoid|steps|rows|replay|lr)\s*[:=]?\s+(\S.*)|(steps|rows|replay|lr)\s*[:=]\s*(\S.*)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Instructions:
    """An owner's words, as far as they were understood."""

    focus: tuple[str, ...] = ()
    """Train exactly these families; empty: the operator chooses."""
    avoid: tuple[str, ...] = ()
    """Never train these families."""
    steps: int | None = None
    """Optimiser steps; None: the operator chooses."""
    rows: int | None = None
    """New rows a family, at most the limit in force; None: the operator chooses."""
    replay: float | None = None
    """Replay share, 0.05..0.95; None: the operator chooses."""
    learning_rate: float | None = None
    """Peak learning rate; None: the operator chooses."""
    followed: tuple[str, ...] = ()
    """Words that were understood, as given."""
    noted: tuple[str, ...] = ()
    """Words that were read and not understood."""

    @classmethod
    def read(cls, texts: Sequence[str], families: Collection[str]) -> Instructions:
        """Read texts, oldest first; `families` are the names that exist."""
        known = {name.lower(): name for name in families}
        result = cls()
        for words in (part.strip() for text in texts for part in re.split(r"[;\n]", text)):
            if words:
                result = result._with(words, known)
        return result

    def _with(self, words: str, known: dict[str, str]) -> Instructions:
        form = _FORM.fullmatch(words.rstrip(" ."))
        if form:
            verb, value = (form[1] or form[3]).lower(), (form[2] or form[4]).strip()
            changed = _READERS[verb](self, value, known)
            if changed is not None:
                return replace(changed, followed=(*self.followed, words))
        return replace(self, noted=(*self.noted, words))


def _names(value: str, known: dict[str, str]) -> tuple[str, ...] | None:
    names = [part.strip().lower() for part in value.split(",")]
    if not names or any(name not in known for name in names):
        return None
    return tuple(dict.fromkeys(known[name] for name in names))


def _focus(so_far: Instructions, value: str, known: dict[str, str]) -> Instructions | None:
    names = _names(value, known)
    if names is None:
        return None
    return replace(so_far, focus=names, avoid=tuple(name for name in so_far.avoid if name not in names))


def _avoid(so_far: Instructions, value: str, known: dict[str, str]) -> Instructions | None:
    names = _names(value, known)
    if names is None:
        return None
    focus = tuple(name for name in so_far.focus if name not in names)
    return replace(so_far, avoid=tuple(dict.fromkeys((*so_far.avoid, *names))), focus=focus)


def _number(value: str, low: float, high: float) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if low <= number <= high else None


def _count(value: str, high: int) -> int | None:
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 and 1 <= int(value) <= high else None


def _steps(so_far: Instructions, value: str, _: dict[str, str]) -> Instructions | None:
    number = _count(value, MOST_STEPS)
    return None if number is None else replace(so_far, steps=number)


def _rows(so_far: Instructions, value: str, _: dict[str, str]) -> Instructions | None:
    number = _count(value, 10**8)
    return None if number is None else replace(so_far, rows=number)


def _replay(so_far: Instructions, value: str, _: dict[str, str]) -> Instructions | None:
    number = _number(value, 0.05, 0.95)
    return None if number is None else replace(so_far, replay=number)


def _rate(so_far: Instructions, value: str, _: dict[str, str]) -> Instructions | None:
    number = _number(value, 1e-7, 1.0)
    return None if number is None else replace(so_far, learning_rate=number)


_Reader = Callable[[Instructions, str, dict[str, str]], Instructions | None]
_READERS: dict[str, _Reader] = {
    "focus": _focus,
    "avoid": _avoid,
    "steps": _steps,
    "rows": _rows,
    "replay": _replay,
    "lr": _rate,
}
