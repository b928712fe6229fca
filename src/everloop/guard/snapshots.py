"""Snapshots of certified versions: everything that is needed to stand where a version stood.

A snapshot is a folder ``snapshots/VERSION`` with ``files/`` (the checkpoint, copied) and ``snapshot.json`` (hashes,
configuration, dependency versions, scores, activation time). It is there whole or not at all, and never changes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Self

from everloop.errors import CheckpointCorrupt, Conflict, StorageFull
from everloop.events import JsonValue
from everloop.paths import RunPaths
from everloop.values import iso, utcnow

DEPENDENCIES = ("everloop", "numpy", "scipy", "torch", "safetensors", "dbos", "sqlalchemy")
"""Packages whose versions a snapshot records, where they are installed."""
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``snapshot.json``."""

    version: str
    """Certified version, ``v1``."""
    files: Mapping[str, str]
    """Relative name of each file -> SHA-256 hex of its bytes."""
    configuration: Mapping[str, JsonValue]
    """Plan, limits and protocol hash in force."""
    dependencies: Mapping[str, str]
    """Package -> version; ``python`` included."""
    scores: Mapping[str, JsonValue]
    """Scores of the version when it was certified, by split."""
    activated: str
    """ISO 8601 UTC time of the snapshot, which precedes the activation."""

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return dict(asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read ``snapshot.json``. CheckpointCorrupt when it is missing or not one."""
        try:
            return cls(**json.loads((folder / "snapshot.json").read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise CheckpointCorrupt(f"snapshot {folder.name} cannot be read", why=str(error)) from error


def take(
    paths: RunPaths,
    name: str,
    checkpoint: Path,
    *,
    configuration: Mapping[str, JsonValue],
    scores: Mapping[str, JsonValue],
) -> Snapshot:
    """Take the snapshot of version `name`, or find it taken.

    CheckpointCorrupt when there is no checkpoint, Conflict when the version has a snapshot of other files, StorageFull
    when no room is left; nothing half-written stays.
    """
    target = paths.snapshot(name)
    files = _hashes(checkpoint)
    if target.exists():
        return _same(target, files)
    part = target.with_name(f".{name}.{os.getpid()}.{os.urandom(4).hex()}")
    snapshot = Snapshot(name, files, dict(configuration), _dependencies(), dict(scores), str(iso(utcnow())))
    with _room(target):
        try:
            _build(part, checkpoint, snapshot)
            if _hashes(part / "files") != files:
                raise CheckpointCorrupt(f"checkpoint {checkpoint.name} changed while it was copied")
            return _publish(part, target, snapshot)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def verify(paths: RunPaths, name: str) -> Snapshot:
    """The snapshot, if all its bytes are as they were; CheckpointCorrupt otherwise."""
    folder = paths.snapshot(name)
    snapshot = Snapshot.read(folder)
    found = _hashes(folder / "files")
    changed = sorted(file for file in {*found, *snapshot.files} if found.get(file) != snapshot.files.get(file))
    if changed:
        why = f"changed, missing or added: {', '.join(changed)}"
        raise CheckpointCorrupt(f"snapshot {name} does not match its hashes", why=why)
    return snapshot


def restore(paths: RunPaths, name: str, destination: Path) -> Snapshot:
    """Verify a snapshot and put its files at `destination`, whole or not at all; what stood there is replaced."""
    snapshot = verify(paths, name)
    part = destination.with_name(f".{destination.name}.{os.getpid()}.{os.urandom(4).hex()}")
    old = part.with_name(f"{part.name}.old")
    with _room(destination):
        try:
            destination.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _copy(paths.snapshot(name) / "files", part, snapshot.files)
            if destination.exists():
                destination.rename(old)
            part.rename(destination)
        finally:
            shutil.rmtree(part, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
    return snapshot


def _build(part: Path, checkpoint: Path, snapshot: Snapshot) -> None:
    part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part.mkdir(mode=0o700)
    _copy(checkpoint, part / "files", snapshot.files)
    text = json.dumps(snapshot.to_json(), indent=1, sort_keys=True, allow_nan=False)
    with (part / "snapshot.json").open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _publish(part: Path, target: Path, snapshot: Snapshot) -> Snapshot:
    """Rename into place; if somebody else was first, theirs stands when it holds the same files."""
    try:
        part.rename(target)
    except OSError as error:
        if error.errno not in {errno.EEXIST, errno.ENOTEMPTY}:
            raise
        return _same(target, snapshot.files)
    return snapshot


def _same(target: Path, files: Mapping[str, str]) -> Snapshot:
    taken = Snapshot.read(target)
    if taken.files != files:
        raise Conflict(f"version {target.name} has a snapshot of other files", why="a snapshot never changes")
    return taken


def _copy(source: Path, destination: Path, files: Mapping[str, str]) -> None:
    destination.mkdir(mode=0o700)
    for name in files:
        to = destination / PurePosixPath(name)
        to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(source / PurePosixPath(name), to, follow_symlinks=False)
        with to.open("rb") as file:
            os.fsync(file.fileno())


def _hashes(folder: Path) -> dict[str, str]:
    """Relative name -> SHA-256 of every file below `folder`. CheckpointCorrupt when it has none, or holds a link."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise CheckpointCorrupt(f"{path.relative_to(folder)} is a symbolic link", why="files must be plain")
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = _sha256(path)
    if not found:
        raise CheckpointCorrupt(f"checkpoint {folder.name} has no files", why=str(folder))
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _dependencies() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in DEPENDENCIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            then = "Free some room and try again"
            raise StorageFull(f"{folder} cannot be written", why=os.strerror(error.errno), then=then) from error
        raise
