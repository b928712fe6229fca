"""A job's folder on this machine: private, written whole or not at all, read with suspicion."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from everloop.errors import InvalidRequest, StorageFull
from everloop.events import JsonValue

LARGEST = 65_536
"""Bytes of a status file that are read; a longer one is not believed."""
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


@contextmanager
def room(folder: Path) -> Iterator[None]:
    """Turn the operating system's "no room left" into StorageFull."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise storage_full(folder, error.errno) from error
        raise


def storage_full(folder: Path, number: int) -> StorageFull:
    """The error for a folder that cannot be written."""
    return StorageFull(f"{folder} cannot be written", why=os.strerror(number), then="Free some room and try again")


def make(folder: Path) -> None:
    """Create a folder and its missing parents, each with mode 0700."""
    if folder.is_dir():
        return
    make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def write(path: Path, data: bytes) -> None:
    """Write a file, mode 0600, so that a reader sees the old one, the new one, but never a part."""
    part = _part(path, data)
    part.replace(path)


def create(path: Path, data: bytes) -> bool:
    """Write a file that must not exist; False, and nothing written, when it does."""
    part = _part(path, data)
    try:
        path.hardlink_to(part)
    except FileExistsError:
        return False
    finally:
        part.unlink()
    return True


def _part(path: Path, data: bytes) -> Path:
    part = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return part


def checked_input(name: str) -> PurePosixPath:
    """`name` as a path below ``in/``. InvalidRequest when it is absolute, empty or climbs out."""
    path = PurePosixPath(name)
    odd = not name or "\0" in name or "\\" in name or path.is_absolute() or name.endswith("/")
    if odd or any(part in {"", ".", ".."} for part in name.split("/")):
        raise InvalidRequest(f"input {name!r} is not a safe relative path", why="use plain names joined by /")
    return path


def write_inputs(folder: Path, inputs: Mapping[str, bytes]) -> None:
    """Write the inputs below `folder`; a symlink in the way is refused, never followed."""
    make(folder)
    for name, data in inputs.items():
        target = folder / checked_input(name)
        for parent in (*reversed(target.relative_to(folder).parents), target.relative_to(folder)):
            if (folder / parent).is_symlink():
                raise InvalidRequest(f"input {name!r} meets a symbolic link", why=str(folder / parent))
        make(target.parent)
        write(target, data)


def read(path: Path, *, tail: int | None = None, limit: int = LARGEST) -> bytes | None:
    """Bytes of a regular file (its last `tail` if given); None when it is missing, a link or longer than `limit`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or (tail is None and facts.st_size > limit):
            return None
        start = 0 if tail is None else max(0, facts.st_size - tail)
        return os.pread(descriptor, limit if tail is None else tail, start)
    finally:
        os.close(descriptor)


def read_object(path: Path) -> dict[str, JsonValue] | None:
    """A JSON object; None when the file is missing, half-written, not an object, or holds NaN or Infinity."""
    data = read(path)
    if data is None:
        return None
    try:
        document = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)
