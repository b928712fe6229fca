"""The program of a sampler process: JSON lines in on standard input, JSON lines out on standard output.

A request is ``{"checkpoint", "prompts", "k", "temperature", "seed"}``; the answer is ``{"answers"}`` or
``{"error": {"code", "message"}}``. It ends when its input ends, even in the middle of a request: no orphan stays.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import traceback
from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO

from everloop.errors import EverloopError
from everloop.students.base import Sampler, Trainer
from everloop.students.checkpoints import load_manifest
from everloop.students.registry import trainer

KEPT = 4
"""Checkpoints kept loaded."""


class Loaded:
    """Samplers of the checkpoints used last."""

    def __init__(self, maker: Trainer, kept: int = KEPT) -> None:
        self._maker, self._kept = maker, kept
        self._samplers: OrderedDict[tuple[Path, str], Sampler] = OrderedDict()

    def sampler(self, checkpoint: Path) -> Sampler:
        """The checkpoint's sampler. A folder that was written anew has another identity and is loaded again."""
        key = (checkpoint, load_manifest(checkpoint).weights_sha256)
        if key not in self._samplers:
            self._samplers[key] = self._maker.sampler(checkpoint)
        self._samplers.move_to_end(key)
        while len(self._samplers) > self._kept:
            self._samplers.popitem(last=False)
        return self._samplers[key]


def answer(loaded: Loaded, line: bytes) -> bytes:
    """The line that answers a request's line."""
    try:
        request = json.loads(line)
        sampler = loaded.sampler(Path(request["checkpoint"]))
        texts = sampler.sample(
            request["prompts"], k=request["k"], temperature=request["temperature"], seed=request["seed"]
        )
        return json.dumps({"answers": texts}).encode() + b"\n"
    except EverloopError as error:
        return json.dumps({"error": error.to_json()}).encode() + b"\n"


def main(name: str, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests for the trainer `name` until the input ends."""
    loaded = Loaded(trainer(name))
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        for line in source:
            requests.put(line)
        os._exit(0)  # a thread cannot interrupt a computation any other way

    threading.Thread(target=listen, daemon=True).start()
    while True:
        sink.write(answer(loaded, requests.get()))
        sink.flush()


if __name__ == "__main__":
    # Whatever a library prints goes to standard error, so that it cannot garble an answer.
    with os.fdopen(os.dup(1), "wb") as private:
        os.dup2(2, 1)
        try:
            main(sys.argv[1], sys.stdin.buffer, private)
        except Exception:  # noqa: BLE001 - a crash is told by the code; an orderly end would wait for the listener
            traceback.print_exc()
            os._exit(1)
