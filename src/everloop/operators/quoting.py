"""Texts of others in a model's request: fenced line by line, cleaned, clipped.

Every line inside a fence starts with a mark of its own, so no text can end its fence: a line that looks like the end
has the mark before it. What only looks like a fence, a role or a control token of a chat is broken as well.
"""

from __future__ import annotations

import re
import unicodedata

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
_INVISIBLE = {"Cc", "Cf", "Cs", "Co"}


def clean(text: str) -> str:
    """The text without control characters, invisible ones and halves of characters; lines end in a line feed."""
    lines = ("".join(letter for letter in line if _visible(letter)) for line in text.splitlines())
    return "\n".join(lines)


def plain(text: str) -> bool:
    """Whether a text is text: no control characters but tabs and line ends, no halves of characters."""
    return not any(unicodedata.category(letter) in {"Cc", "Cs"} and letter not in "\t\n\r" for letter in text)


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


def owner(what: str, text: str, most: int) -> str:
    """The owner's words under the heading `what`, told apart from data by another mark."""
    return _block(f"owner: {what}", "end of owner", OWNER, text, most)


def quoted(text: object, most: int = 80) -> str:
    """A short text of another on one line, for use in a sentence."""
    return repr(clip(_broken(" ".join(clean(str(text)).split())), most))


def _block(head: str, end: str, mark: str, text: str, most: int) -> str:
    body = "\n".join(mark + line for line in _broken(clean(text)).split("\n"))
    return f"[{head}]\n{clip(body, most - len(head) - len(end) - 6)}\n[{end}]"


def _broken(text: str) -> str:
    for pattern in (_HEAD, _ROLE, _TOKEN):
        text = pattern.sub(lambda found: {"<": "‹", ">": "›", "[": "("}[found[0]], text)
    return text


def _visible(letter: str) -> bool:
    return letter == "\t" or unicodedata.category(letter) not in _INVISIBLE
