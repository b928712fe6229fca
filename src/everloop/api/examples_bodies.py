"""Examples of what is sent about runs."""

from __future__ import annotations

from everloop.events import Json

START: Json = {
    "run": "arith-carry-1",
    "brief": "Better with carries.",
    "limits": {"model_usd_cap": 5, "dev_n": 400},
    "domain": "arith",
    "rounds": 4,
}
"""A start."""
TEXT: Json = {"text": "Look at carries over two places first."}
"""A steer or a directive."""
CONTROL: Json = {"action": "extend", "rounds": 8}
"""A control."""
