"""How the small student reads and writes arithmetic: fixed width, least significant digit first.

Rows on disk stay natural text (``47+38=``, ``85``). Zero-padded operands and reversed digits let a tiny model learn
carries: with digits in natural order the same training reaches .78 to 1.0 instead of 1.0.
"""

from __future__ import annotations

import re

CHARACTERS = "0123456789+-*= $"
"""The alphabet; ``$`` ends an answer, the space is never written."""
WIDTH = 4
"""Digits of an operand."""
ANSWER = 5
"""Digits of an answer."""
PROMPT_LENGTH = 2 * WIDTH + 2
ANSWER_LENGTH = ANSWER + 1
LENGTH = PROMPT_LENGTH + ANSWER_LENGTH
_IDS = {character: place for place, character in enumerate(CHARACTERS)}
_PROMPT = re.compile(rf"(\d{{1,{WIDTH}}})([+*-])(\d{{1,{WIDTH}}})=", re.ASCII)
_ANSWER = re.compile(rf"\d{{1,{ANSWER}}}", re.ASCII)


def encode_prompt(prompt: str) -> list[int]:
    """Ids of a prompt such as ``47+38=``. ValueError for what the alphabet and width cannot hold."""
    parts = _PROMPT.fullmatch(prompt)
    if parts is None:
        raise ValueError(f"{prompt[:40]!r} is no task of two numbers with up to {WIDTH} digits")
    a, sign, b = parts.groups()
    return [_IDS[character] for character in f"{a.zfill(WIDTH)[::-1]}{sign}{b.zfill(WIDTH)[::-1]}="]


def encode_answer(answer: str) -> list[int]:
    """Ids of an answer such as ``85``. ValueError for what the width cannot hold."""
    if not _ANSWER.fullmatch(answer):
        raise ValueError(f"{answer[:40]!r} is no number with up to {ANSWER} digits")
    return [_IDS[character] for character in answer.zfill(ANSWER)[::-1] + "$"]


def decode_answer(ids: list[int]) -> str:
    """Natural text of generated ids; text that is no number comes back as it stands."""
    text = "".join(CHARACTERS[place] for place in ids).split("$", 1)[0][::-1]
    return str(int(text)) if text.isdecimal() else text
