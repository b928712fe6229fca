from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from everloop.errors import CheckpointCorrupt, Conflict
from everloop.events import JsonValue
from everloop.guard import snapshots
from everloop.paths import RunPaths

CONFIGURATION: Mapping[str, JsonValue] = {
    "plan": {"families": ["add3"]},
    "limits": {"dev_n": 400},
    "protocol_sha256": "ab",
}
SCORES: Mapping[str, JsonValue] = {"all": {"mean": 0.97, "n": 1200}}


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    return RunPaths(tmp_path / "runs" / "r")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    (folder / "deep").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(os.urandom(5000))
    (folder / "manifest.json").write_text("{}")
    (folder / "deep" / "x").write_text("y")
    return folder


def take(paths: RunPaths, checkpoint: Path, name: str = "v1") -> snapshots.Snapshot:
    return snapshots.take(paths, name, checkpoint, configuration=CONFIGURATION, scores=SCORES)


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_holds_everything_and_verifies(paths: RunPaths, checkpoint: Path) -> None:
    snapshot = take(paths, checkpoint)
    assert snapshots.verify(paths, "v1") == snapshot
    assert set(snapshot.files) == {"model.safetensors", "manifest.json", "deep/x"}
    assert (snapshot.configuration, snapshot.scores) == (CONFIGURATION, SCORES)
    assert snapshot.dependencies["python"] == ".".join(map(str, sys.version_info[:3]))
    assert "numpy" in snapshot.dependencies and snapshot.activated.endswith("Z")


def test_does_not_depend_on_the_checkpoint_it_came_from(paths: RunPaths, checkpoint: Path, tmp_path: Path) -> None:
    before = content(checkpoint)
    take(paths, checkpoint)
    (checkpoint / "model.safetensors").write_bytes(b"changed in place")
    snapshots.restore(paths, "v1", tmp_path / "back")
    assert content(tmp_path / "back") == before


def test_taken_twice_is_taken_once(paths: RunPaths, checkpoint: Path) -> None:
    assert take(paths, checkpoint) == take(paths, checkpoint)
    (checkpoint / "manifest.json").write_text("other")
    with pytest.raises(Conflict):
        take(paths, checkpoint)
    snapshots.verify(paths, "v1")


def test_restore_replaces_what_stands_there(paths: RunPaths, checkpoint: Path, tmp_path: Path) -> None:
    take(paths, checkpoint)
    there = tmp_path / "there"
    there.mkdir()
    (there / "rubbish").write_text("x")
    snapshots.restore(paths, "v1", there)
    assert content(there) == content(checkpoint)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("defect", ["flip", "missing", "added", "link", "record", "nothing"])
def test_a_changed_snapshot_is_corrupt(paths: RunPaths, checkpoint: Path, tmp_path: Path, defect: str) -> None:
    take(paths, checkpoint)
    files = paths.snapshot("v1") / "files"
    model = files / "model.safetensors"
    data = bytearray(model.read_bytes())
    data[99] ^= 1
    if defect == "flip":
        model.write_bytes(data)
    elif defect == "missing":
        model.unlink()
    elif defect == "added":
        (files / "extra").touch()
    elif defect == "link":
        model.unlink()
        model.symlink_to(checkpoint / "model.safetensors")
    elif defect == "record":
        (paths.snapshot("v1") / "snapshot.json").write_text("{")
    name = "v2" if defect == "nothing" else "v1"
    with pytest.raises(CheckpointCorrupt):
        snapshots.verify(paths, name)
    with pytest.raises(CheckpointCorrupt):
        snapshots.restore(paths, name, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_no_checkpoint_no_snapshot(paths: RunPaths, tmp_path: Path) -> None:
    with pytest.raises(CheckpointCorrupt):
        take(paths, tmp_path / "absent")
    assert not paths.snapshot("v1").exists()


def test_no_room_is_storage_full_and_nothing_half_written_stays(paths: RunPaths, checkpoint: Path) -> None:
    assert _child(paths, checkpoint, "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))") == 3
    assert list(paths.snapshot("v1").parent.iterdir()) == []
    take(paths, checkpoint)


def test_killed_at_any_copy_leaves_nothing_or_all(paths: RunPaths, checkpoint: Path) -> None:
    for calls in range(1, 8):
        hook = f"""
real, left = os.fsync, [{calls}]
def dying(fd):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    real(fd)
os.fsync = dying
"""
        name = f"v{calls}"
        assert _child(paths, checkpoint, hook, name) in {0, -signal.SIGKILL}
        if paths.snapshot(name).exists():
            snapshots.verify(paths, name)
        take(paths, checkpoint, name)
        snapshots.verify(paths, name)


def _child(paths: RunPaths, checkpoint: Path, first: str, name: str = "v1") -> int:
    code = f"""
import os, resource, sys
from pathlib import Path
from everloop.errors import StorageFull
from everloop.guard import snapshots
from everloop.paths import RunPaths
{first}
try:
    run, checkpoint = RunPaths(Path({str(paths.root)!r})), Path({str(checkpoint)!r})
    snapshots.take(run, {name!r}, checkpoint, configuration={{}}, scores={{}})
except StorageFull:
    sys.exit(3)
"""
    return subprocess.run([sys.executable, "-c", code], check=False).returncode
