"""API keys: read when they are used, kept in files that only their owner can read, and never part of a message."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from everloop.errors import InvalidRequest, ModelNotConfigured, StorageFull
from everloop.gateway.base import KeySource, ModelEntry
from everloop.paths import Home

MOST = 8192
"""Longest key, in characters."""

_ADVICE = "Give it again with `el model add ... --key-stdin`"
_ID = re.compile(r"[0-9a-f]{32}")


class Secrets:
    """The keys of one installation: its files, and the environment of this process."""

    def __init__(self, home: Home) -> None:
        self.folder: Path = home.root / "keys"
        """Where the files lie, each named by the `ModelEntry.key_name` of its entry; mode 0700."""

    def read(self, entry: ModelEntry) -> str | None:
        """The model's key; None when it takes none. ModelNotConfigured when it has none where it should have one."""
        if entry.key_source is KeySource.NONE:
            return None
        if entry.key_source is KeySource.ENVIRONMENT:
            return self._from_environment(entry)
        return self._from_file(entry)

    def write(self, key: str) -> str:
        """Keep a key in a new file, whole or not at all, and return the file's id.

        No file is ever written twice: a key belongs to one entry, and an entry of another endpoint never finds it.
        """
        key, made = checked_key(key), secrets.token_hex(16)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._opened() as folder:
            try:
                _write_new(folder, made, key)
                os.fsync(folder)
            except OSError as error:
                _forget(folder, made)
                raise _unwritten(error) from error
        return made

    def remove(self, made: str) -> bool:
        """Delete the key file of that id; True when there was one."""
        if not _ID.fullmatch(made) or not self.folder.exists():
            return False
        with self._opened(strict=False) as folder:
            return _forget(folder, made)

    def _from_environment(self, entry: ModelEntry) -> str:
        key = os.environ.get(entry.key_name, "").strip()
        if not key:
            why = f"the environment variable {entry.key_name} is not set or empty in this process"
            raise ModelNotConfigured(f"model {entry.name} has no key", why=why, then=f"Set {entry.key_name}")
        return checked_key(key)

    def _from_file(self, entry: ModelEntry) -> str:
        if not _ID.fullmatch(entry.key_name):
            raise ModelNotConfigured(f"model {entry.name} has no key", why="its entry names no key file", then=_ADVICE)
        path = self.folder / entry.key_name
        if not self.folder.exists():
            raise _missing(entry.name, path)
        with self._opened() as folder:
            try:
                # Not blocking: a named pipe in the file's place must not hold the caller up.
                descriptor = os.open(
                    path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
                )
            except FileNotFoundError as error:
                raise _missing(entry.name, path) from error
            except OSError as error:
                raise _unreadable(path, error) from error
            with os.fdopen(descriptor, "rb") as file:
                _only_mine(path, os.fstat(descriptor), 0o600)
                text = file.read(MOST + 2)
        return checked_key(text.decode("ascii", errors="replace"))

    @contextmanager
    def _opened(self, *, strict: bool = True) -> Iterator[int]:
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise _unreadable(self.folder, error) from error
        try:
            if strict:
                _only_mine(self.folder, os.fstat(folder), 0o700)
            yield folder
        finally:
            os.close(folder)


def checked_key(key: str) -> str:
    """The key without white space around it. InvalidRequest, which never repeats it, when it can be none."""
    key = key.strip()
    if not key:
        raise InvalidRequest("the key cannot be accepted", why="it is empty")
    if len(key) > MOST:
        raise InvalidRequest("the key cannot be accepted", why=f"it is longer than {MOST} characters")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidRequest("the key cannot be accepted", why="it holds white space or characters beyond ASCII")
    return key


def _write_new(folder: int, name: str, key: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)  # whatever the umask took away
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())


def _forget(folder: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _only_mine(path: Path, found: os.stat_result, mode: int) -> None:
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _no_file(path)
    if found.st_uid != os.geteuid():
        why = f"it belongs to another account (uid {found.st_uid}), which can read and change it"
        then = (
            "Run as the account it belongs to, or remove it and give the key again with `el model add ... --key-stdin`"
        )
        raise ModelNotConfigured(f"{path} is not used", why=why, then=then)
    if found.st_mode & 0o077:
        why = f"others than its owner may use it (mode {stat.S_IMODE(found.st_mode):04o})"
        then = f"Run: chmod {mode:04o} {path}; if others could read it, replace the key at its provider"
        raise ModelNotConfigured(f"{path} is not used", why=why, then=then)


def _no_file(path: Path) -> ModelNotConfigured:
    return ModelNotConfigured(
        f"{path} is not used",
        why="it is a link or no ordinary file",
        then="Remove it, then give the key again with `el model add ... --key-stdin`",
    )


def _missing(name: str, path: Path) -> ModelNotConfigured:
    return ModelNotConfigured(f"model {name} has no key", why=f"{path} is not there", then=_ADVICE)


def _unreadable(path: Path, error: OSError) -> ModelNotConfigured:
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO}:
        return _no_file(path)
    why = error.strerror or type(error).__name__
    return ModelNotConfigured(f"{path} cannot be read", why=why, then="Let the account of this process read it")


def _unwritten(error: OSError) -> InvalidRequest | StorageFull:
    why = error.strerror or type(error).__name__
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageFull("the key could not be written", why=why, then="Free some room, then try again")
    return InvalidRequest("the key could not be written", why=why, then="Check the home folder")
