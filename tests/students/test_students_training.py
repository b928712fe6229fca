"""The training job's program, as a process in a job folder."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from everloop.domains.arith import Arith
from everloop.domains.stream import Stream
from everloop.domains.synthetic import Synthetic
from everloop.students.base import Row, TrainSettings
from everloop.students.checkpoints import verify
from everloop.students.synthetic import SyntheticTrainer
from everloop.students.training import Progress, request_bytes, training_argv


def job(
    folder: Path, name: str = "synthetic", parent: Path | None = None, settings: TrainSettings | None = None
) -> Path:
    domain = Arith() if name == "nano" else Synthetic()
    items, _ = Stream(domain, 0).draw_balanced("train", 32, {})
    (folder / "in").mkdir()
    lines = (json.dumps(asdict(Row(item.family, item.prompt, item.answer))) for item in items)
    (folder / "in/rows.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "in/request.json").write_bytes(request_bytes(name, parent, 1, settings or TrainSettings()))
    return folder


def carry(folder: Path, limit: Callable[[], None] | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        training_argv(),
        cwd=folder,
        env=dict(os.environ) | env,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "out").iterdir()) if (folder / "out").exists() else []


def test_a_training_leaves_a_checkpoint_and_its_progress(tmp_path: Path) -> None:
    done = carry(job(tmp_path))
    manifest = verify(tmp_path / "out/checkpoint")
    assert done.returncode == 0 and manifest.weights_sha256 in done.stdout
    assert json.loads((tmp_path / "status.json").read_text())["step"] == 500
    assert left(tmp_path) == ["checkpoint"]


def test_a_loss_that_is_not_finite_is_code_3(tmp_path: Path) -> None:
    done = carry(job(tmp_path, "nano", settings=TrainSettings(steps=40, batch_size=8, learning_rate=1e30)))
    assert done.returncode == 3 and left(tmp_path) == []
    assert done.stderr.splitlines()[-1].startswith("JOB_FAILED: the")


def test_no_room_is_code_4_and_leaves_nothing(tmp_path: Path) -> None:
    done = carry(job(tmp_path), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60)))
    assert done.returncode == 4 and left(tmp_path) == []
    assert done.stderr.splitlines()[-1].startswith("STORAGE_FULL: ")


def test_a_corrupt_parent_is_code_5(tmp_path: Path) -> None:
    SyntheticTrainer().init(tmp_path / "parent", 0)
    (tmp_path / "parent/weights.json").write_text("{}")
    (tmp_path / "job").mkdir()
    done = carry(job(tmp_path / "job", parent=tmp_path / "parent"))
    assert done.returncode == 5 and left(tmp_path / "job") == []
    assert done.stderr.splitlines()[-1].startswith("CHECKPOINT_CORRUPT: ")


def spoil_request(folder: Path) -> None:
    (folder / "in/request.json").write_text("{}")


def spoil_rows(folder: Path) -> None:
    (folder / "in/rows.jsonl").write_text("no rows\n")


def lose_rows(folder: Path) -> None:
    (folder / "in/rows.jsonl").unlink()


@pytest.mark.parametrize("spoil", [spoil_request, spoil_rows, lose_rows])
def test_any_other_error_is_code_1_with_a_last_line_that_says_it(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(job(tmp_path))
    done = carry(tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert any(word in done.stderr.splitlines()[-1] for word in ("request", "row"))


def test_a_killed_training_leaves_no_checkpoint_and_can_be_repeated(tmp_path: Path) -> None:
    job(tmp_path)
    env = dict(os.environ) | {"EVERLOOP_SYNTHETIC_SECONDS": "30"}
    running = subprocess.Popen(training_argv(), cwd=tmp_path, env=env)
    deadline = time.monotonic() + 20
    while not (tmp_path / "status.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL and left(tmp_path) == []
    assert carry(tmp_path).returncode == 0 and left(tmp_path) == ["checkpoint"]


def test_the_job_folder_is_no_place_to_import_from(tmp_path: Path) -> None:
    job(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit(77)")
    assert carry(tmp_path).returncode == 0


def test_progress_is_written_whole_at_most_twice_a_second_and_at_the_end(tmp_path: Path) -> None:
    progress, seen = Progress(tmp_path / "status.json"), set()
    begun = time.monotonic()
    while time.monotonic() - begun < 1.2:
        progress({"step": 1, "steps": 9, "at": time.monotonic()})
        found: dict[str, Any] = json.loads((tmp_path / "status.json").read_text())
        seen.add(found["at"])
    assert 2 <= len(seen) <= 4
    progress({"step": 9, "steps": 9})
    assert json.loads((tmp_path / "status.json").read_text()) == {"step": 9, "steps": 9}


def test_progress_that_cannot_be_written_does_not_end_a_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Progress(tmp_path / "missing/status.json")({"step": 1, "steps": 2})
    assert "status not written" in capsys.readouterr().err
