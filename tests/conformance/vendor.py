"""The vendor's client, unmodified, in an environment of its own; and a server for it with a model and four keys."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from arithmetic import student
from scripted import ScriptedServer
from served import Served

ROOT = Path(__file__).parents[2]
PLACE = Path(os.environ.get("EVERLOOP_VENDOR_EL") or ROOT / ".vendor" / "bin" / "el")
"""Where the client is."""


@dataclass(frozen=True)
class Place:
    """A server that the vendor's client is driven against."""

    server: Served
    """It, with a key that may read, start and stop."""
    upstream: ScriptedServer
    """The student behind its gateway."""
    viewer: str
    """A key that only reads."""
    nostop: str
    """A key that may read and start."""
    other: str
    """A key of another project."""


def client() -> Path:
    """The client; the test is skipped, saying why, where it is not installed."""
    if not os.access(PLACE, os.X_OK):
        pytest.skip(f"the vendor's client is not at {PLACE}: run `make vendor`")
    return PLACE


@contextmanager
def place(home: Path, database_url: str, **environment: str) -> Iterator[Place]:
    """A server with a scripted student, set up by the commands that its owner would use."""
    with ScriptedServer(student) as upstream, Served(home, database_url, **environment) as server:
        words = ["--model", "scripted", "--base-url", upstream.url, "--input-price", "0.01", "--output-price", "0.01"]
        server.el("model", "add", "scripted", *words, "--for", "student")
        server.el("project", "create", "other")
        nostop = ["--kind", "custom", "--permission", "read", "--permission", "training.run"]
        yield Place(
            server,
            upstream,
            viewer=_key(server, "--kind", "read-only"),
            nostop=_key(server, *nostop),
            other=_key(server, "--project", "other"),
        )


def _key(server: Served, *words: str) -> str:
    return str(json.loads(server.el("key", "create", "--json", *words))["key"])
