"""Students as the loop uses them: prompts in, texts out, whichever process answers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from everloop.students.base import Trainer
from everloop.students.process import SamplerProcess
from everloop.students.registry import trainer as find

TIMEOUT = 300.0


class Student:
    """Answers of one trainer's checkpoints: inside this process if the trainer is `inline`, else in a child."""

    def __init__(self, trainer: Trainer, timeout_s: float = TIMEOUT) -> None:
        self._trainer, self._timeout = trainer, timeout_s
        self._process = None if trainer.capabilities().inline else SamplerProcess(trainer.name)

    def answers(self, checkpoint: Path, prompts: Sequence[str]) -> list[str | None]:
        """One greedy answer a prompt, None where the student gave none.

        EvaluationFailed when the measurement did not happen, CheckpointCorrupt when the checkpoint is not whole.
        """
        return [one[0] if one else None for one in self.samples(checkpoint, prompts, k=1, temperature=0.0, seed=0)]

    def samples(
        self, checkpoint: Path, prompts: Sequence[str], *, k: int, temperature: float, seed: int
    ) -> list[list[str]]:
        """`k` answers a prompt; the same seed gives the same ones. Errors as in `answers`."""
        if not prompts:
            return []
        if self._process is None:
            return self._trainer.sampler(checkpoint).sample(prompts, k=k, temperature=temperature, seed=seed)
        return self._process.sample(checkpoint, prompts, k, temperature, seed, self._timeout)

    def close(self) -> None:
        """End the child, if there is one."""
        if self._process is not None:
            self._process.close()


class Students:
    """The students of a worker, by trainer, shared by its runs and threads."""

    def __init__(self, timeout_s: float = TIMEOUT) -> None:
        self._timeout, self._lock = timeout_s, threading.Lock()
        self._students: dict[str, Student] = {}

    def trainer(self, name: str) -> Trainer:
        """The trainer of that name. InvalidRequest when there is none."""
        return find(name)

    def student(self, name: str) -> Student:
        """The student of the trainer `name`, made at the first call."""
        with self._lock:
            if name not in self._students:
                self._students[name] = Student(self.trainer(name), self._timeout)
            return self._students[name]

    def close(self) -> None:
        """End all children."""
        with self._lock:
            for student in self._students.values():
                student.close()
            self._students.clear()
