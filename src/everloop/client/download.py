"""A checkpoint's files on their way to a folder: found in the list, saved only when every byte is as the list says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from everloop.client import address
from everloop.client.errors import InvalidAnswer
from everloop.errors import CheckpointCorrupt, CheckpointNotFound, InvalidRequest
from everloop.events import Json


@dataclass(frozen=True, slots=True)
class Listed:
    """One file, as the list of checkpoints has it."""

    size: int
    """Bytes."""
    sha256: str
    """SHA-256 in hex."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A checkpoint to be fetched."""

    path: str
    """What the download route is asked for."""
    files: Mapping[str, Listed]
    """Name -> what its bytes must be."""

    def urls(self, answer: Json) -> dict[str, str]:
        """Where each file is. InvalidAnswer unless exactly the listed files are offered, at safe addresses."""
        found = answer.get("urls")
        if not isinstance(found, dict) or set(found) != set(self.files):
            raise InvalidAnswer("the files offered are not those listed")
        return {name: _safe_url(url) for name, url in found.items()}

    def save(self, name: str, chunks: Iterable[bytes], folder: Path) -> Path:
        """Write a file. CheckpointCorrupt, and no file, when it is not what the list says."""
        listed, part, digest, size = self.files[name], folder / f".{name}.part", hashlib.sha256(), 0
        target = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if target.exists():
                raise InvalidRequest(f"{target} exists", then="Name a new folder")
            with part.open("wb") as file:
                for chunk in chunks:
                    size += len(chunk)
                    if size > listed.size:
                        break
                    digest.update(chunk)
                    file.write(chunk)
            if size != listed.size or digest.hexdigest() != listed.sha256:
                raise CheckpointCorrupt(f"{name} is not what the list says", then="Nothing was kept of it; try again")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target


def wanted(found: Sequence[Json], path: str) -> Wanted:
    """The one checkpoint of that id or path."""
    fitting = [one for one in found if path in {one.get("checkpoint_id"), one.get("tinker_path"), _uri(one)}]
    if not fitting:
        raise CheckpointNotFound("there is no such checkpoint here", then="See `el checkpoint list`")
    if len(fitting) > 1:
        raise InvalidRequest("several checkpoints have this name", then="Name one as envloop://JOB/CHECKPOINT")
    chosen = fitting[0]
    files = chosen.get("files")
    if not isinstance(files, list) or not files:
        raise InvalidAnswer("the list names no files of this checkpoint")
    return Wanted(str(chosen.get("tinker_path") or _uri(chosen)), dict(_listed(one) for one in files))


def _uri(one: Json) -> str:
    return f"envloop://{one.get('job_id') or one.get('train_job_id')}/{one.get('checkpoint_id')}"


def _listed(one: object) -> tuple[str, Listed]:
    name, size, digest = (
        (one.get(key) for key in ("name", "size_bytes", "sha256")) if isinstance(one, dict) else ("",) * 3
    )
    if not isinstance(name, str) or not name or name != Path(name).name or name in {".", ".."} or "\\" in name:
        raise InvalidAnswer("a file of the checkpoint has no plain name")
    if not isinstance(size, int) or not isinstance(digest, str):
        raise InvalidAnswer("a file of the checkpoint has no size or hash")
    return name, Listed(size, digest.lower())


def _safe_url(url: object) -> str:
    if isinstance(url, str) and (url.startswith("https://") or (url.startswith("http://") and address.loopback(url))):
        return url
    raise InvalidAnswer("a file is offered at an address that is not safe")
