"""Dry runs against a scripted student: a server that answers synthetic items as well as its prompt says."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from harness import installation, request
from scripted import Reply, Request, ScriptedServer

from everloop.domains.synthetic import answer_to
from everloop.gateway.base import ModelEntry, Use
from everloop.service import models
from everloop.service.installation import Installation
from everloop.service.request import StartRequest

TASK = re.compile(r"s\d:\d+")
QUALITY = re.compile(r"quality=([0-9.]+)")
SIZES = {"diag_per_family": 4, "dev_n": 60, "admission_n": 16, "blind_n": 80, "eval_limit": 240, "calib_n": 16}
INPUT, OUTPUT = 1.0, 10.0
"""US dollars a million tokens."""


def student(request: Request) -> Reply:
    """Right as often as the system text says, .4 without one; an item always fares the same, whatever set it is of."""
    task = TASK.findall(request.last)[-1]
    said = QUALITY.search(request.text)
    quality = float(said[1]) if said else 0.4
    luck = int.from_bytes(hashlib.sha256(f"luck of {task}".encode()).digest()[:4], "big") / 2**32
    text = f"It is {answer_to(task)}." if luck < quality else "It is 7."
    return Reply(text, input_tokens=20, output_tokens=5)


def place(home: Path, server: ScriptedServer, url: str = "", **settings: Any) -> Installation:
    """An installation with the scripted student configured."""
    settings = {"model_deadline_seconds": 5.0, "model_retries": 3} | settings
    found = installation(home, url, **settings)
    add(found, server, "scripted", Use.STUDENT)
    return found


def add(found: Installation, server: ScriptedServer, name: str, *uses: Use, **fields: Any) -> None:
    values = {"input_usd_per_mtok": INPUT, "output_usd_per_mtok": OUTPUT, "concurrency": 8, "max_tokens": 64} | fields
    models.add(
        found,
        ModelEntry(name=name, provider="openai", model="scripted", base_url=server.url, uses=uses, **values),
        None,
    )


def asked(run: str = "dry-1", **changes: Any) -> StartRequest:
    """A start of a dry run of three rounds."""
    limits = SIZES | changes.pop("limits", {})
    options = {"operator": "prompter"} | changes.pop("options", {})
    return request(run, limits=limits, options=options, **({"dry_run": True, "rounds": 3} | changes))


def billed(server: ScriptedServer) -> int:
    """Micro-dollars of what the server answered."""
    return round(server.tokens.input * INPUT + server.tokens.output * OUTPUT)
