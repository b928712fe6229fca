"""What `el auth` saves: base URL and scope in ``config.toml``, the key in ``auth.json``; for the owner's eyes only."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from everloop.errors import InvalidRequest, StorageFull

VARIABLE = "EVERLOOP_CONFIG"
"""Environment variable that names the folder."""


@dataclass(frozen=True, slots=True)
class Saved:
    """One saved connection; what was not saved is None."""

    base_url: str | None = None
    """Base URL."""
    workspace_id: str | None = None
    """Workspace, sent with every request."""
    project_id: str | None = None
    """Project, sent with every request."""
    api_key: str | None = None
    """Key of that base URL."""
    key_url: str | None = None
    """Base URL that the key was given for; it is sent to no other."""

    def __repr__(self) -> str:
        return f"Saved(base_url={self.base_url!r}, project_id={self.project_id!r})"


def folder() -> Path:
    """Where both files lie."""
    from platformdirs import user_config_path

    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else user_config_path("everloop")


def read() -> Saved:
    """What is saved; nothing when there are no files. InvalidRequest for files that cannot be read."""
    found = folder()
    config = _parsed(found / "config.toml")
    auth = _parsed(found / "auth.json")
    texts = {name: _text(config, name) for name in ("base_url", "workspace_id", "project_id")}
    return Saved(**texts, api_key=_text(auth, "api_key"), key_url=_text(auth, "base_url"))


def _text(document: dict[str, object], name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) and value else None


def _parsed(path: Path) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} cannot be read", why=str(error), then="Mend or remove it") from error
    try:
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{path} cannot be read", why="it is damaged", then="Mend or remove it") from error
    return found if isinstance(found, dict) else {}


def write(saved: Saved) -> None:
    """Save both files, whole or not at all, mode 0600 in a folder of mode 0700."""
    texts = {name: value for name in ("base_url", "workspace_id", "project_id") if (value := getattr(saved, name))}
    _replace("config.toml", "".join(f"{name} = {json.dumps(value)}\n" for name, value in texts.items()))
    if saved.api_key is None:
        (folder() / "auth.json").unlink(missing_ok=True)
    else:
        _replace("auth.json", json.dumps({"base_url": saved.key_url, "api_key": saved.api_key}) + "\n")


def forget_key() -> bool:
    """Forget the key and its scope; whether there was one."""
    saved = read()
    write(replace(saved, api_key=None, key_url=None, workspace_id=None, project_id=None))
    return saved.api_key is not None


def _replace(name: str, text: str) -> None:
    found = folder()
    try:
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp makes its file with mode 0600
        place, made = tempfile.mkstemp(prefix=f".{name}.", dir=found)
        try:
            with os.fdopen(place, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(made).replace(found / name)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise
    except OSError as error:
        what, then = f"{found / name} could not be written", f"Set {VARIABLE} to a folder of yours"
        raise StorageFull(what, why=error.strerror or str(error), then=then) from error
