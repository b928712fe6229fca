"""Addresses as they may be written down: without the secrets that some of them hold."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"(?P<file>/job/checkpoints/content/)[^?]*"  # whoever holds the address may fetch the file
    r"|(?P<key>el[kgsl]_[0-9a-f]{12}_)[A-Za-z0-9_-]+"  # revoking a key takes the whole one as well as its prefix
    r"|(?P<own>epk_)[0-9a-f]{64}"
)


def redacted(path: str) -> str:
    """The path with ``...`` in the place of tokens and keys."""
    return _SECRET.sub(lambda found: f"{found['file'] or found['key'] or found['own']}...", path)
