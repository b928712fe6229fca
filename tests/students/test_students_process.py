"""A sampler in a child: same answers as inside, and every way to lose it is an error, never a score."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from everloop.errors import CheckpointCorrupt, EvaluationFailed
from everloop.students.measuring import Student, Students
from everloop.students.process import SamplerProcess
from everloop.students.sampling import Loaded
from everloop.students.synthetic import SyntheticJobTrainer, SyntheticTrainer

TRAINER = SyntheticTrainer()
PROMPTS = [f"s1:{number}" for number in range(50)]

OWNER = """
import sys, time
from pathlib import Path
from everloop.students.process import SamplerProcess
process = SamplerProcess("synthetic")
process.sample(Path(sys.argv[1]), ["s1:1"], 1, 0.0, 0, 30)
print(process.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    TRAINER.init(tmp_path / "c", 1)
    return tmp_path / "c"


@pytest.fixture
def process() -> Iterator[SamplerProcess]:
    one = SamplerProcess("synthetic")
    yield one
    one.close()


def ask(process: SamplerProcess, checkpoint: Path, timeout_s: float = 30) -> list[list[str]]:
    return process.sample(checkpoint, PROMPTS, 2, 1.0, 3, timeout_s)


def gone(pid: int, seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        threads = list(Path(f"/proc/{pid}/task").glob("*"))
        if state == "Z" and len(threads) <= 1:  # its other threads may outlive the first by a moment
            return True
        time.sleep(0.02)
    return False


def test_a_child_answers_as_the_trainer_itself_does(process: SamplerProcess, checkpoint: Path) -> None:
    inside = TRAINER.sampler(checkpoint).sample(PROMPTS, k=2, temperature=1.0, seed=3)
    assert ask(process, checkpoint) == inside
    first = process.pid
    assert ask(process, checkpoint) == inside and process.pid == first


def test_more_than_a_pipe_holds_goes_through(process: SamplerProcess, checkpoint: Path) -> None:
    many = [f"s1:{number}" for number in range(20_000)]
    assert len(process.sample(checkpoint, many, 1, 0.0, 0, 60)) == 20_000


def test_a_crash_fails_the_measurement_and_the_next_one_works(process: SamplerProcess, checkpoint: Path) -> None:
    answers = ask(process, checkpoint)
    assert process.pid
    os.kill(process.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, process, checkpoint)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(EvaluationFailed, match="code -9"):
            waiting.result()
    assert ask(process, checkpoint) == answers


def test_a_child_that_died_between_requests_is_replaced(process: SamplerProcess, checkpoint: Path) -> None:
    answers = ask(process, checkpoint)
    pid = process.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert ask(process, checkpoint) == answers and process.pid != pid


def test_a_hang_is_killed_and_fails_the_measurement(process: SamplerProcess, checkpoint: Path) -> None:
    answers = ask(process, checkpoint)
    pid = process.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(EvaluationFailed, match="in time"):
        ask(process, checkpoint, timeout_s=0.5)
    assert time.monotonic() - begun < 5 and gone(pid)
    assert ask(process, checkpoint) == answers


def test_corruption_is_told_apart_from_failure(process: SamplerProcess, checkpoint: Path) -> None:
    (checkpoint / "weights.json").write_text("{}")
    with pytest.raises(CheckpointCorrupt):
        ask(process, checkpoint)
    assert process.pid


def test_an_unknown_trainer_fails_the_measurement(checkpoint: Path) -> None:
    lost = SamplerProcess("alchemist")
    with pytest.raises(EvaluationFailed, match="code 1"):
        ask(lost, checkpoint)
    lost.close()


def test_threads_take_turns_and_get_their_own_answers(process: SamplerProcess, checkpoint: Path) -> None:
    sampler = TRAINER.sampler(checkpoint)
    asked = [[f"s{turn % 4 + 1}:{turn}-{n}" for n in range(20)] for turn in range(12)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda prompts: process.sample(checkpoint, prompts, 1, 0.0, 0, 30), asked))
    assert replies == [sampler.sample(prompts) for prompts in asked]


def test_a_child_does_not_outlive_its_owner(checkpoint: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(checkpoint)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    child = int(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert gone(child)


def test_a_child_sees_no_secret(process: SamplerProcess, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    ask(process, checkpoint)
    environment = Path(f"/proc/{process.pid}/environ").read_bytes()
    assert b"secret" not in environment and b"OMP_NUM_THREADS=1" in environment


def test_loaded_checkpoints_are_limited_and_known_by_their_bytes(tmp_path: Path) -> None:
    loaded = Loaded(TRAINER, kept=2)
    paths = [tmp_path / name for name in "abc"]
    for seed, path in enumerate(paths):
        TRAINER.init(path, seed)
    first = loaded.sampler(paths[0])
    assert loaded.sampler(paths[0]) is first
    loaded.sampler(paths[1])
    loaded.sampler(paths[2])
    assert loaded.sampler(paths[0]) is not first
    second = loaded.sampler(paths[0])
    (paths[0] / "manifest.json").unlink()
    (paths[0] / "weights.json").unlink()
    paths[0].rmdir()
    TRAINER.init(paths[0], 9)
    assert loaded.sampler(paths[0]) is not second


def test_a_student_answers_inside_or_in_a_child_the_same(checkpoint: Path) -> None:
    students = Students(30)
    student = students.student("synthetic")
    assert students.student("synthetic") is student and students.trainer("synthetic").name == "synthetic"
    answers = student.answers(checkpoint, PROMPTS)
    assert student.samples(checkpoint, PROMPTS, k=1, temperature=0.0, seed=0) == [[text] for text in answers]
    assert student.answers(checkpoint, []) == []
    students.close()
    assert not SyntheticJobTrainer().capabilities().inline
    json.dumps(answers)
    Student(TRAINER).close()
