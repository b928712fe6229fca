"""The program of a training job: ``python -m everloop.students.training`` in the job's folder.

Reads ``in/request.json`` and ``in/rows.jsonl``, keeps ``status.json`` up to date, leaves ``out/checkpoint``. The last
line on standard error says what went wrong; the return code says which kind: see `CODES`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from everloop.errors import CheckpointCorrupt, EverloopError, InvalidRequest, JobFailed, StorageFull
from everloop.events import JsonValue
from everloop.paths import JobPaths
from everloop.students.base import Manifest, TrainRequest, TrainSettings
from everloop.students.checkpoints import storage_error
from everloop.students.registry import trainer

REQUEST, ROWS, CHECKPOINT = "request.json", "rows.jsonl", "checkpoint"
CODES: dict[type[EverloopError], int] = {JobFailed: 3, StorageFull: 4, CheckpointCorrupt: 5}
"""Return codes: 3 the loss is not finite, 4 no room, 5 the parent is corrupt; 1 is any other error."""
_PAUSE = 0.5


def training_argv() -> tuple[str, ...]:
    """The command of a training job. ``-P``: the job's folder must not be a place to import from."""
    return (sys.executable, "-P", "-m", "everloop.students.training")


def request_bytes(name: str, parent: Path | None, seed: int, settings: TrainSettings) -> bytes:
    """``request.json`` of a training by the trainer `name`; `parent` is made absolute."""
    where = str(parent.absolute()) if parent else None
    document = {"trainer": name, "parent": where, "seed": seed, "settings": settings.to_json(), "rows": f"in/{ROWS}"}
    return json.dumps(document, sort_keys=True).encode()


class Progress:
    """Keeps a status file up to date, at most twice a second, each time whole."""

    def __init__(self, path: Path) -> None:
        self._path, self._next = path, 0.0

    def __call__(self, progress: Mapping[str, JsonValue]) -> None:
        """Take progress; the last step is always written."""
        now = time.monotonic()
        if now < self._next and progress.get("step") != progress.get("steps"):
            return
        self._next = now + _PAUSE
        partial = self._path.with_suffix(".tmp")
        try:
            partial.write_text(json.dumps(dict(progress)))
            partial.replace(self._path)
        except OSError as error:
            # Progress is a courtesy: a training whose result can still be saved must not end for want of it.
            print(f"status not written: {error.strerror}", file=sys.stderr)  # noqa: T201 - the job's log


def run(paths: JobPaths) -> Manifest:
    """Carry out the request in a job's folder."""
    try:
        document = json.loads((paths.inputs / REQUEST).read_bytes())
        settings = TrainSettings(**document["settings"])
        parent = Path(document["parent"]) if document["parent"] else None
        name, seed = str(document["trainer"]), int(document["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(f"{REQUEST} is no request of a training", why=str(error)) from error
    out = paths.outputs / CHECKPOINT
    request = TrainRequest(paths.inputs / ROWS, out, parent, seed, settings)
    return trainer(name).train(request, Progress(paths.status))


def main() -> int:
    """Train in the current folder; returns the process's code."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        manifest = run(JobPaths(Path.cwd()))
    except EverloopError as error:
        return _failed(error)
    except OSError as error:
        return _failed(storage_error(error, "the training's result"))
    print(f"checkpoint {manifest.weights_sha256} from {manifest.rows} rows")  # noqa: T201 - the job's log
    return 0


def _failed(error: Exception) -> int:
    text = error.message if isinstance(error, EverloopError) else f"{type(error).__name__}: {error}"
    print(f"{getattr(error, 'code', 'ERROR')}: {text}", file=sys.stderr)  # noqa: T201 - the job's log
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), 1)


if __name__ == "__main__":
    sys.exit(main())
