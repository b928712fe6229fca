"""Checkpoints on disk: a folder with one weights file and ``manifest.json``, written whole or not at all.

A checkpoint's identity is its manifest's ``weights_sha256``, wherever the folder lies. Needs no training library.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path

from everloop.errors import CheckpointCorrupt, EverloopError, StorageFull
from everloop.students.base import Manifest

MANIFEST = "manifest.json"
WEIGHTS = ("weights.safetensors", "weights.json")
"""Names a weights file may have; a checkpoint holds exactly one."""
FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_LARGEST_MANIFEST = 1 << 20


def save(out: Path, weights: bytes, name: str, describe: Callable[[str], Manifest]) -> Manifest:
    """Write a checkpoint at `out`, which must not exist; `describe` gets the weights' SHA-256.

    Files are synced before the folder takes its name, so that a name always stands for whole bytes. StorageFull when
    there is no room; nothing is left then.
    """
    manifest = describe(hashlib.sha256(weights).hexdigest())
    partial: Path | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        _write(partial / name, weights)
        _write(partial / MANIFEST, json.dumps(asdict(manifest), sort_keys=True, indent=1).encode() + b"\n")
        _sync(partial)
        partial.rename(out)
        _sync(out.parent)
    except OSError as error:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        raise storage_error(error, f"checkpoint {out}") from error
    return manifest


def load_manifest(path: Path) -> Manifest:
    """The manifest of a checkpoint. CheckpointCorrupt when there is none that can be read."""
    raw = _read(path, MANIFEST, _LARGEST_MANIFEST)
    try:
        manifest = Manifest(**json.loads(raw))
    except (ValueError, TypeError) as error:
        raise CheckpointCorrupt(f"{path / MANIFEST} is no manifest", why=str(error)) from error
    if not isinstance(manifest.weights_sha256, str):
        raise CheckpointCorrupt(f"{path / MANIFEST} names no weights")
    return manifest


def read(path: Path) -> tuple[Manifest, bytes]:
    """Manifest and weights of a checkpoint, checked against each other."""
    manifest = load_manifest(path)
    present = [name for name in WEIGHTS if os.path.lexists(path / name)]
    if len(present) != 1:
        raise CheckpointCorrupt(f"checkpoint {path} must hold one weights file", why=f"found {present or 'none'}")
    weights = _read(path, present[0])
    digest = hashlib.sha256(weights).hexdigest()
    if digest != manifest.weights_sha256:
        raise CheckpointCorrupt(
            f"checkpoint {path} is corrupt",
            why=f"its weights hash to {digest[:12]}, its manifest says {manifest.weights_sha256[:12]}",
            then="Restore it from a copy or train it again",
        )
    return manifest, weights


def verify(path: Path) -> Manifest:
    """Hash the weights again and return the manifest. CheckpointCorrupt when they do not match."""
    return read(path)[0]


def storage_error(error: OSError, what: str) -> EverloopError | OSError:
    """StorageFull for an error that means no room; any other error as it is."""
    if error.errno not in FULL:
        return error
    why = error.strerror or str(error)
    return StorageFull(f"{what} could not be written", why=why, then="Free some room, then try again")


@cache
def cpu_model() -> str:
    """The processor's name as the system tells it."""
    with suppress(OSError):  # no /proc: the platform's own word will do
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def rows_digest(rows: Path) -> str:
    """SHA-256 hex of a rows file."""
    with rows.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Version of Python, and those of libraries given."""
    return {"python": platform.python_version(), **(more or {})}


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(folder: Path, name: str, largest: int | None = None) -> bytes:
    """A regular file of a checkpoint; links are refused, because they could lead anywhere and change later."""
    if folder.is_symlink():
        raise CheckpointCorrupt(f"checkpoint {folder} is a symbolic link", why="its bytes could change unseen")
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CheckpointCorrupt(f"{folder / name} cannot be read", why=error.strerror or str(error)) from error
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or (largest is not None and state.st_size > largest):
            raise CheckpointCorrupt(f"{folder / name} is no file of a checkpoint")
        return file.read()
