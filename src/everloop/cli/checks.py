"""The checks of ``el doctor``: each looks at one thing and says what it saw and what to do next."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Literal

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from everloop.errors import EverloopError
from everloop.events import JsonValue
from everloop.settings import Settings

LEAST_FREE = 200 * 1024**2
"""Bytes without which a run will hardly end well."""
ENOUGH_FREE = 2 * 1024**3
"""Bytes below which the doctor warns."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found."""

    check: str
    """Name of the check."""
    result: Literal["ok", "warn", "fail"]
    """``ok``, ``warn`` (works, could be better) or ``fail``."""
    told: str
    """What was seen."""
    then: str = ""
    """What to do next; empty when nothing is to be done."""

    def to_json(self) -> dict[str, JsonValue]:
        """The fields as JSON."""
        return dict(asdict(self))


def python(_: Settings) -> Check:
    """The interpreter."""
    told = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}"
    return Check("python", "ok", told)


def cores(_: Settings) -> Check:
    """Processors this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if usable < 2:
        return Check("cores", "warn", f"{usable} core", "Runs work but are slow; two cores or more are better")
    return Check("cores", "ok", f"{usable} cores")


def torch(_: Settings) -> Check:
    """The built-in student's library; found without importing it, which takes seconds."""
    if find_spec("torch") is None or find_spec("safetensors") is None:
        return Check("torch", "fail", "not installed", "Install the extra: pip install 'everloop[train]'")
    try:
        told = f"torch {version('torch')}"
    except PackageNotFoundError:
        told = "torch of unknown version"
    return Check("torch", "ok", told)


def threads(_: Settings) -> Check:
    """Threads of numerical libraries in this environment; students and trainings always use one."""
    asked = os.environ.get("OMP_NUM_THREADS")
    told = "students use 1 thread each"
    if asked not in {None, "1"}:
        note = f"{told}; OMP_NUM_THREADS={asked} here"
        return Check("threads", "warn", note, "It does not reach students; unset it unless something else needs it")
    return Check("threads", "ok", told)


def home(settings: Settings) -> Check:
    """The installation's folder: writable, with room."""
    root = settings.home
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=root, prefix=".doctor-"):
            pass
        free = shutil.disk_usage(root).free
    except OSError as error:
        why = error.strerror or str(error)
        return Check("home", "fail", f"{root} cannot be written: {why}", "Set EVERLOOP_HOME to a folder you may write")
    told = f"{root} is writable, {free / 1024**3:.1f} GiB free"
    if free < LEAST_FREE:
        return Check("home", "fail", told, "Make room, or set EVERLOOP_HOME to a larger disk")
    if free < ENOUGH_FREE:
        return Check("home", "warn", told, "Make room before long runs")
    return Check("home", "ok", told)


def database(settings: Settings) -> Check:
    """The store: reached, and its tables brought up to date."""
    from everloop.store.database import Database

    shown = safe_url(settings.url)
    then = "Check EVERLOOP_DATABASE_URL, and that the server runs and lets this account in"
    try:
        store = Database(settings.url)
        try:
            # Reading first: it fails at once where migrating would try again for a minute.
            with store.read() as tx:
                tx.execute(text("SELECT 1"))
            store.migrate()
        finally:
            store.close()
    except EverloopError as error:
        return Check("database", "fail", f"{shown}: {_without_password(error.message, settings.url)}", then)
    except Exception as error:  # noqa: BLE001 - a doctor tells what it met, whatever it is, and goes on
        why = _without_password(f"{type(error).__name__}: {error}", settings.url).splitlines()[0]
        return Check("database", "fail", f"{shown}: {why}", then)
    return Check("database", "ok", f"{shown} answers, tables are up to date")


def launcher(_: Settings) -> Check:
    """Where jobs are started."""
    from everloop.remote.launchers.registry import launcher as find_launcher

    try:
        find_launcher("local")
    except EverloopError as error:
        return Check("launcher", "fail", error.message, "Install everloop again: its entry points are not registered")
    return Check("launcher", "ok", "jobs run on this machine (local)")


def safe_url(url: str) -> str:
    """A database URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "a URL that cannot be read"


def _without_password(message: str, url: str) -> str:
    try:
        password = make_url(url).password
    except ArgumentError:
        return message.replace(url, "***") if url else message
    return message.replace(str(password), "***") if password else message


CHECKS: tuple[Callable[[Settings], Check], ...] = (python, cores, torch, threads, home, database, launcher)
"""All checks, in the order in which one builds on the other."""
