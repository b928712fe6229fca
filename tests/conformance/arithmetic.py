"""A scripted student of arithmetic for dry runs: it is right at about six items of ten, and billed for each."""

from __future__ import annotations

import hashlib
import re

from scripted import Reply, Request

RIGHT = 0.6
TASK = re.compile(r"(\d+)\s*([-+*])\s*(\d+)")
SIGNS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


def student(request: Request) -> Reply:
    """The answer to the task that was asked last; the same item always fares the same."""
    left, sign, right = TASK.findall(request.last)[-1]
    luck = int.from_bytes(hashlib.sha256(f"{left}{sign}{right}".encode()).digest()[:4], "big") / 2**32
    answer = SIGNS[sign](int(left), int(right)) if luck < RIGHT else 7
    return Reply(str(answer), input_tokens=20, output_tokens=5)
