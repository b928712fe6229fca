"""Which server, key and project: from arguments, the environment, what was saved, or the server of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from everloop.client import address, saved
from everloop.errors import EverloopError, InvalidRequest, Unauthorized

_FIELDS = ("base_url", "api_key", "workspace_id", "project_id")
_UP = "el up"
_HOW = "Run `el up` on this machine, or name a server with `el auth config`"


@dataclass(frozen=True, slots=True)
class Connection:
    """What a request needs to reach a project."""

    base_url: str
    """Base URL in its one form."""
    api_key: str | None = None
    """Key; None: anonymous."""
    workspace_id: str | None = None
    """Sent as ``X-Workspace-ID``; None: the key's own."""
    project_id: str | None = None
    """Sent as ``X-Project-ID``; None: the key's own."""
    url_from: str = "arguments"
    """Where the base URL was found."""
    key_from: str | None = None
    """Where the key was found; None without one."""

    def __repr__(self) -> str:
        return f"Connection(base_url={self.base_url!r}, project_id={self.project_id!r}, key_from={self.key_from!r})"

    @property
    def of_up(self) -> bool:
        """Whether both server and key are those that `el up` wrote down for this account."""
        return self.url_from == self.key_from == _UP

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        given = {
            "Authorization": self.api_key and f"Bearer {self.api_key}",
            "X-Workspace-ID": self.workspace_id,
            "X-Project-ID": self.project_id,
        }
        told = {"Accept": "application/json", "Content-Type": "application/json"}
        return told | {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a connection may be found; what it does not say is None."""

    name: str
    """How it is called when a person asks."""
    base_url: str | None = None
    """Base URL in its one form."""
    api_key: str | None = None
    """Key."""
    workspace_id: str | None = None
    """Workspace."""
    project_id: str | None = None
    """Project."""
    anywhere: bool = True
    """Whether a key without a base URL of its own may go to any server."""

    def fits(self, url: str) -> bool:
        """Whether what it holds may be sent there: a key is never shown to a server that it was not given for."""
        return self.base_url == url or (self.base_url is None and self.anywhere)


def resolve(
    base_url: str | None = None,
    api_key: str | None = None,
    workspace_id: str | None = None,
    project_id: str | None = None,
) -> Connection:
    """The connection in force. InvalidRequest where no server is known, or a value cannot be one."""
    given = Source("arguments", base_url and address.base_url(base_url), api_key, workspace_id, project_id)
    own, vendor = _environment("EVERLOOP"), _environment("ENVLOOP", anywhere=False)
    near: tuple[Source, ...] = (given, own, vendor)
    named = any(source.base_url for source in near)
    kept = of_saved(_quiet() if named else saved.read())
    # a server that is named, here or in the saved file, needs no look for the one of this machine
    sources = (*near, kept) if named or kept.base_url else (*near, kept, *_local())
    found = next((source for source in sources if source.base_url), None)
    if found is None or found.base_url is None:
        raise InvalidRequest("no server is known", then=_HOW)
    return _chosen(found.base_url, found.name, sources)


def renewed(found: Connection) -> Connection | None:
    """`found`, a connection of `el up`, with the server and key of now; None while none is written down."""
    try:
        now = next(iter(_local()), None)
    except EverloopError:
        # it is being written, or is damaged: no later request would fare better with it
        return None
    if now is None or now.base_url is None or now.api_key is None:
        return None
    return replace(found, base_url=now.base_url, api_key=now.api_key)


def _quiet() -> saved.Saved:
    """What is saved; nothing where it cannot be read, as the environment already says which server."""
    try:
        return saved.read()
    except InvalidRequest:
        return saved.Saved()


def _chosen(url: str, url_from: str, sources: Sequence[Source]) -> Connection:
    fitting = [source for source in sources if source.fits(url)]
    keyed = next((source for source in fitting if source.api_key), None)
    # ids belong to a key: those of a source after the key's own would name another project
    scoped = fitting[: fitting.index(keyed) + 1] if keyed else fitting
    workspace = next((source.workspace_id for source in scoped if source.workspace_id), None)
    project = next((source.project_id for source in scoped if source.project_id), None)
    return Connection(
        base_url=url,
        api_key=address.api_key(keyed.api_key) if keyed and keyed.api_key else None,
        workspace_id=address.workspace_id(workspace) if workspace else None,
        project_id=address.project_id(project) if project else None,
        url_from=url_from,
        key_from=keyed.name if keyed else None,
    )


def _environment(prefix: str, *, anywhere: bool = True) -> Source:
    url, key, workspace, project = (os.environ.get(f"{prefix}_{name.upper()}") or None for name in _FIELDS)
    try:
        return Source(f"{prefix}_*", url and address.base_url(url), key, workspace, project, anywhere)
    except InvalidRequest as error:
        raise InvalidRequest(f"{prefix}_BASE_URL cannot be used", why=error.why, then=error.then) from error


def of_saved(found: saved.Saved) -> Source:
    """What `el auth` saved, as a source; a key given for another base URL is left out."""
    url = address.base_url(found.base_url) if found.base_url else None
    key = found.api_key if found.key_url == url else None
    return Source("saved", url, key, found.workspace_id, found.project_id, anywhere=False)


def _local() -> Sequence[Source]:
    """The server that `el up` runs for this account, if one does."""
    from everloop.paths import Home
    from everloop.settings import Settings

    try:
        path = Home(Settings().home).connection
    except ValueError as error:
        why = str(error).splitlines()[0]
        raise InvalidRequest(
            "a variable EVERLOOP_... cannot be accepted", why=why, then="See docs/settings.md"
        ) from error
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise Unauthorized(f"{path} cannot be read", why=str(error), then="Start `el up` again") from error
    texts = [found.get(name) for name in ("url", "api_key", "workspace_id", "project_id")]
    url, key, workspace, project = (one if isinstance(one, str) and one else None for one in texts)
    return (Source(_UP, url and address.base_url(url), key, workspace, project, anywhere=False),)
