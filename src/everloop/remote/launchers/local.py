"""Jobs as detached processes of this machine."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import everloop
from everloop.errors import BindingMismatch, InvalidRequest, JobFailed, Unavailable
from everloop.events import JsonValue
from everloop.paths import JobPaths
from everloop.remote.launchers import folder, process_tree
from everloop.remote.launchers.base import JobSpec, JobState, JobStatus

PATIENCE = 30.0
"""Seconds a launch waits for the keeper's first word; a machine that needs longer is in trouble."""
GRACE = 5.0
"""Seconds a cancel leaves the keeper to kill the tree before it does so itself."""
TAIL_BYTES, TAIL_LINES = 4096, 15
_SOURCES = str(Path(everloop.__file__).resolve().parents[1])
_BOOT = "import sys; sys.path.append(sys.argv[1]); from everloop.remote.launchers.keeper import main; main()"
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGSYS, signal.SIGTRAP}
"""Signals a process brings on itself; any other was sent by somebody."""


class LocalLauncher:
    """Runs each job under a keeper process of its own that outlives this one. Linux only."""

    name = "local"
    """Name of the launcher."""

    def launch(self, paths: JobPaths, spec: JobSpec) -> bool:
        """Start the job, or re-attach to it; True if this call started it.

        Takes no lock, which a stopped worker would hold for ever: any number of workers may do all of this at once,
        for the files they write are the same, and of the keepers they start one wins the claim.
        """
        _check(spec)
        with folder.room(paths.root):
            folder.make(paths.root)
            _bind(paths, spec)
            if paths.keeper.exists() or paths.returncode.exists():
                return False
            _prepare(paths, spec)
            return _start(paths, spec)

    def poll(self, paths: JobPaths) -> JobStatus:
        """How the job stands now. A job whose keeper is gone is ended here: its remnants are killed."""
        ending = folder.read_object(paths.returncode)
        if ending is None:
            keeper = folder.read_object(paths.keeper)
            if keeper is None and not paths.keeper.exists():
                return _unstarted(paths)
            if keeper is not None and _alive(keeper):
                seconds = max(0.0, time.time() - _number(keeper.get("at")))
                return JobStatus(JobState.RUNNING, None, seconds, _progress(paths), "")
            ending = folder.read_object(paths.returncode) or _bury(paths, keeper or {}, "lost")
        return _final(paths, ending)

    def pull(self, paths: JobPaths) -> None:
        """Nothing to bring: the outputs are on this machine. JobFailed when the folder is gone."""
        if not paths.outputs.is_dir():
            raise JobFailed(f"job {paths.root.name} left no outputs", why=f"{paths.outputs} does not exist")

    def cancel(self, paths: JobPaths) -> None:
        """Kill the whole process tree and mark the job cancelled. No effect on an ended job."""
        if paths.returncode.exists() or not paths.binding.exists():
            return
        with folder.room(paths.root):
            folder.create(paths.cancelled, b"")
        keeper = folder.read_object(paths.keeper)
        if keeper is None:
            return
        deadline = time.monotonic() + GRACE
        if _alive(keeper):
            process_tree.send(_pid(keeper), signal.SIGTERM)
        while _alive(keeper) and time.monotonic() < deadline:
            if paths.returncode.exists():
                return
            time.sleep(0.005)
        if not paths.returncode.exists():
            _bury(paths, keeper, "cancelled")


def _check(spec: JobSpec) -> None:
    """InvalidRequest for a request that could not be run as it stands."""
    if not process_tree.supported():
        raise Unavailable("the local launcher needs Linux", why="there is no /proc here")
    if not spec.argv or any("\0" in part for part in spec.argv):
        raise InvalidRequest(f"job {spec.job!r} has no usable command", why="argv is empty or holds a zero byte")
    if not (math.isfinite(spec.time_limit_seconds) and spec.time_limit_seconds > 0):
        raise InvalidRequest(f"job {spec.job!r} has no usable time limit", why="it must be positive and finite")
    if "HOME" in spec.env:
        raise InvalidRequest(f"job {spec.job!r} sets HOME", why="HOME is its folder, by which its processes are known")
    for name in spec.inputs:
        folder.checked_input(name)


def _bind(paths: JobPaths, spec: JobSpec) -> None:
    """Bind the folder to the request, or find it bound to the same one."""
    digest = spec.digest()
    if folder.create(paths.binding, digest.encode()):
        return
    if folder.read(paths.binding) != digest.encode():
        raise BindingMismatch(
            f"job {spec.job!r} is bound to a different request", why="its digest differs", then="Use a new job id"
        )


def _prepare(paths: JobPaths, spec: JobSpec) -> None:
    folder.make(paths.outputs)
    folder.write_inputs(paths.inputs, spec.inputs)
    document = {
        "job": spec.job,
        "digest": spec.digest(),
        "argv": list(spec.argv),
        "time_limit_seconds": spec.time_limit_seconds,
        "inputs": sorted(spec.inputs),
        "env": dict(spec.env),
        "labels": dict(spec.labels),
    }
    folder.write(paths.spec, json.dumps(document, indent=1).encode())


def _start(paths: JobPaths, spec: JobSpec) -> bool:
    """Start a keeper and wait for its word; True if it was the one that started the command."""
    listen, speak = os.pipe()
    try:
        with os.fdopen(os.open(paths.log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600), "wb") as log:
            command = [sys.executable, "-I", "-S", "-c", _BOOT, _SOURCES, str(speak)]
            subprocess.run(
                command,
                cwd=paths.root,
                env=_environment(paths, spec),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(speak,),
                start_new_session=True,
                timeout=PATIENCE,
                check=False,
            )
        os.close(speak)
        speak = -1
        return _heard(paths, _word(listen))
    except subprocess.TimeoutExpired as error:
        raise JobFailed(f"job {paths.root.name} could not be started", why=f"no keeper in {PATIENCE:.0f} s") from error
    finally:
        os.close(listen)
        if speak >= 0:
            os.close(speak)


def _environment(paths: JobPaths, spec: JobSpec) -> dict[str, str]:
    """The job's whole environment; nothing else of the worker's passes."""
    path = os.environ.get("PATH", os.defpath)
    minimal = {"PATH": path, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    return minimal | dict(spec.env) | {"HOME": str(paths.root.resolve())}


def _word(listen: int) -> str:
    said = b""
    while select.select([listen], [], [], PATIENCE)[0]:
        piece = os.read(listen, 64)
        if not piece:
            break
        said += piece
    return said.decode()


def _heard(paths: JobPaths, word: str) -> bool:
    if word.startswith("errno "):
        number = int(word.split()[1])
        raise OSError(number, os.strerror(number), str(paths.root))
    if word == "started":
        return True
    if paths.keeper.exists():
        return False
    raise JobFailed(f"job {paths.root.name} could not be started", why=_tail(paths) or "its keeper died")


def _alive(keeper: Mapping[str, JsonValue]) -> bool:
    """Whether the very process that claimed the job lives: same boot, same id, same start time."""
    return keeper.get("boot") == process_tree.boot() and process_tree.started(_pid(keeper)) == keeper.get("started")


def _pid(keeper: Mapping[str, JsonValue]) -> int:
    return int(_number(keeper.get("pid")))


def _number(value: JsonValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _bury(paths: JobPaths, keeper: Mapping[str, JsonValue], ended: str) -> dict[str, JsonValue]:
    """End a job whose keeper is gone or does not answer; the first ending that is written stands."""
    if _alive(keeper):
        process_tree.send(_pid(keeper), signal.SIGKILL)
    home = str(paths.root.resolve())
    process_tree.kill_all(lambda: process_tree.remnants(home))
    ending: dict[str, JsonValue] = {"ended": ended, "returncode": None, "seconds": _last_sign(paths, keeper)}
    with folder.room(paths.root):
        folder.create(paths.returncode, json.dumps(ending).encode())
    return folder.read_object(paths.returncode) or ending


def _last_sign(paths: JobPaths, keeper: Mapping[str, JsonValue]) -> float:
    """Seconds from the start to the last write to log or status: when a lost job was last known to work."""
    begun = _number(keeper.get("at"))
    signs = [path.lstat().st_mtime for path in (paths.log, paths.status) if path.exists()]
    return round(max(0.0, max(signs, default=begun) - begun), 3) if begun else 0.0


def _unstarted(paths: JobPaths) -> JobStatus:
    if paths.cancelled.exists():
        return JobStatus(JobState.CANCELLED, None, 0.0, {}, "cancelled before it was started")
    if paths.binding.exists():
        return JobStatus(JobState.RUNNING, None, 0.0, {}, "")
    return JobStatus(JobState.LOST, None, 0.0, {}, f"job {paths.root.name} was never launched")


def _final(paths: JobPaths, ending: Mapping[str, JsonValue]) -> JobStatus:
    code = ending.get("returncode")
    returncode = code if isinstance(code, int) else None
    state, why = _verdict(str(ending.get("ended")), returncode)
    seconds = _number(ending.get("seconds"))
    if state is JobState.TIMEOUT:
        why = f"killed at its time limit after {seconds:.1f} s"
    tail = _tail(paths) if why else ""
    reason = f"{why}; its log ends:\n{tail}" if tail else why
    return JobStatus(state, returncode, seconds, _progress(paths), reason)


def _verdict(ended: str, returncode: int | None) -> tuple[JobState, str]:
    if ended == "exited":
        return (JobState.COMPLETED, "") if returncode == 0 else (JobState.FAILED, f"returned {returncode}")
    if ended == "timeout":
        return JobState.TIMEOUT, "killed at its time limit"
    if ended == "cancelled":
        return JobState.CANCELLED, "cancelled"
    if ended == "signal" and returncode is not None:
        number = signal.Signals(-returncode) if -returncode in set(signal.Signals) else -returncode
        name = number.name if isinstance(number, signal.Signals) else f"signal {number}"
        return (JobState.FAILED, f"crashed with {name}") if number in _CRASHES else (JobState.LOST, f"killed by {name}")
    return JobState.LOST, "its keeper vanished without a return code"


def _progress(paths: JobPaths) -> Mapping[str, JsonValue]:
    return folder.read_object(paths.status) or {}


def _tail(paths: JobPaths) -> str:
    text = (folder.read(paths.log, tail=TAIL_BYTES) or b"").decode(errors="replace")
    clean = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    return "\n".join(clean.rstrip().splitlines()[-TAIL_LINES:])
