"""A sampler in a process of its own: a crash, a hang or a leak of the student cannot reach the worker."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from everloop.errors import CheckpointCorrupt, EvaluationFailed, EverloopError, Unavailable

_PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH")
"""All that a sampler sees of the environment; keys and passwords lie elsewhere in it."""
_THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_KNOWN: dict[str, type[EverloopError]] = {kind.code: kind for kind in (CheckpointCorrupt, Unavailable)}


class SamplerProcess:
    """One child process for one trainer; threads take turns. It starts at the first request and after each loss."""

    def __init__(self, trainer_name: str) -> None:
        self._name = trainer_name
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child, None while there is none."""
        child = self._child
        return child.pid if child else None

    def sample(
        self, checkpoint: Path, prompts: Sequence[str], k: int, temperature: float, seed: int, timeout_s: float
    ) -> list[list[str]]:
        """`k` answers a prompt. EvaluationFailed on a hang (it is killed) or a crash; CheckpointCorrupt as such."""
        request = {
            "checkpoint": str(checkpoint.absolute()),
            "prompts": list(prompts),
            "k": k,
            "temperature": temperature,
            "seed": seed,
        }
        with self._lock:
            try:
                line = self._exchange(json.dumps(request).encode() + b"\n", time.monotonic() + timeout_s)
                reply = json.loads(line)
            except (OSError, EOFError, ValueError) as error:
                why = self._drop(error)
                raise EvaluationFailed(f"the sampler process of {self._name} failed", why=why) from error
        return _answers(reply, len(prompts), k)

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._drop(None)

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ} | _THREADS
        command = [sys.executable, "-P", "-m", "everloop.students.sampling", self._name]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0)
        assert child.stdin
        os.set_blocking(child.stdin.fileno(), False)
        return child

    def _exchange(self, data: bytes, deadline: float) -> bytes:
        """Send a line and receive one; never waits beyond the deadline, for sending neither."""
        if self._child is None or self._child.poll() is not None:
            self._drop(None)
            self._child = self._start()
        source, sink = self._child.stdout, self._child.stdin
        assert source
        assert sink
        unsent, received = memoryview(data), bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(source, selectors.EVENT_READ)
            ready.register(sink, selectors.EVENT_WRITE)
            while not received.endswith(b"\n"):
                events = ready.select(deadline - time.monotonic())
                if time.monotonic() >= deadline:
                    raise TimeoutError("it did not answer in time and was killed")
                for key, _ in events:
                    if key.fileobj is source:
                        part = os.read(source.fileno(), 1 << 16)
                        if not part:
                            raise EOFError
                        received += part
                    else:
                        unsent = unsent[os.write(sink.fileno(), unsent) :]
                        if not unsent:
                            ready.unregister(sink)
        return bytes(received)

    def _drop(self, error: Exception | None) -> str:
        """Kill what is left of the child and say how it ended."""
        child, self._child = self._child, None
        if child is None:
            return str(error)
        if error is not None and not isinstance(error, TimeoutError):
            with suppress(subprocess.TimeoutExpired):  # its output ends a moment before it does
                child.wait(1)
        child.kill()
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe:
                pipe.close()
        return str(error) if isinstance(error, TimeoutError) else f"it ended with code {code}"


def _answers(reply: dict[str, Any], prompts: int, k: int) -> list[list[str]]:
    if "error" in reply:
        error = reply["error"]
        raise _KNOWN.get(error["code"], EvaluationFailed)(error["message"])
    answers = cast(list[list[str]], reply["answers"])
    if len(answers) != prompts or any(len(one) != k for one in answers):
        raise EvaluationFailed("the sampler returned another number of answers than was asked for")
    return answers
