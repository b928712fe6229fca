"""Writing a result to a file the caller named."""

from __future__ import annotations

import errno
from pathlib import Path

from everloop.errors import InvalidRequest, StorageFull


def save(path: Path, text: str) -> None:
    """Write `text`, making folders as needed. StorageFull without room, InvalidRequest where nothing may be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise StorageFull(f"{path} could not be written", why=why, then="Make room and try again") from error
        raise InvalidRequest(f"{path} could not be written", why=why, then="Name another file") from error
