"""Texts of others in a model's request: fenced line by line, cleaned, clipped.

Every line inside a fence starts with a mark of its own, so no text can end its fence: a line that looks like the end
has the mark before it. What only looks like a fence, a role or a control token of a chat is broken as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

DATA = "| "
"""Starts every line of data."""
OWNER = "> "
"""Starts every line of the owner's words."""
LEFT_OUT = "(left out)"
"""Stands where something was left out."""
_HEAD = re.compile(r"\[(?=\s*(?:end\s+of\s+)?(?:data|owner)\b)", re.IGNORECASE)
_ROLE = re.compile(
    r"<(?=\s*/?\s*(?:system|developer|assistant\w*|user|tool\w*|instructions?|data|owner|pyai\s*:|start_of_turn|end_of_turn|s)\b)",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"<(?=[|｜])|(?<=[|｜])>|\[(?=\s*/?\s*(?:INST|SYSTEM_PROMPT|TOOL_\w+|AVAILABLE_TOOLS)\b)|<(?=<SYS>)"
)
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Letters, marks and signs that nothing is drawn for (Unicode: default ignorable; and the blank of Braille)."""


def clean(text: str) -> str:
    """The text without control characters, invisible ones and halves of characters; lines end in a line feed."""
    lines = ("".join(letter for letter in line if _visible(letter)) for line in text.splitlines())
    return "\n".join(lines)


def hidden(text: str) -> tuple[str, ...]:
    """The characters of a text that nobody would see, each once: control, format, private, halves, blanks.

    A student reads them all the same, so they could tell it what no auditor and no person has read.
    """
    return tuple(dict.fromkeys(letter for letter in text if letter != "\n" and not _visible(letter)))


def named(letters: Iterable[str], most: int = 5) -> str:
    """Characters by their numbers, as in ``U+200B, U+E0041``."""
    names = [f"U+{ord(letter):04X}" for letter in letters]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def revealed(text: str) -> str:
    """The text with every character that cannot be seen written as an escape, so that a reader sees it is there."""
    return "".join(letter if letter == "\n" or _visible(letter) else _escape(letter) for letter in text)


def clip(text: str, most: int) -> str:
    """At most so many bytes of UTF-8; what is cut off is replaced by a remark."""
    data = text.encode()
    if len(data) <= most:
        return text
    mark = f"… {LEFT_OUT}"
    return data[: max(0, most - len(mark.encode()))].decode(errors="ignore") + mark


def fenced(what: str, text: str, most: int) -> str:
    """Data: `text` in a fence under the heading `what`, at most `most` bytes altogether."""
    return _block(f"data: {what}", "end of data", DATA, text, most)


def fits(what: str, text: str, most: int) -> bool:
    """Whether `fenced` shows all of the text: marks and what is broken make it longer than it was."""
    return len(_body(DATA, text).encode()) <= _room(f"data: {what}", "end of data", most)


def owner(what: str, text: str, most: int) -> str:
    """The owner's words under the heading `what`, told apart from data by another mark."""
    return _block(f"owner: {what}", "end of owner", OWNER, text, most)


def quoted(text: object, most: int = 80) -> str:
    """A short text of another on one line, for use in a sentence."""
    return repr(clip(_broken(" ".join(clean(str(text)).split())), most))


def _block(head: str, end: str, mark: str, text: str, most: int) -> str:
    return f"[{head}]\n{clip(_body(mark, text), _room(head, end, most))}\n[{end}]"


def _body(mark: str, text: str) -> str:
    return "\n".join(mark + line for line in _broken(clean(text)).split("\n"))


def _room(head: str, end: str, most: int) -> int:
    return most - len(head.encode()) - len(end) - 6


def _broken(text: str) -> str:
    for pattern in (_HEAD, _ROLE, _TOKEN):
        text = pattern.sub(lambda found: {"<": "‹", ">": "›", "[": "("}[found[0]], text)
    return text


def _visible(letter: str) -> bool:
    return letter == "\t" or not (unicodedata.category(letter) in _INVISIBLE or _BLANK.match(letter))


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
