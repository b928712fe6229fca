"""Prompts of a run as files: ``prompts/NAME-HASH/prompt.json``, written whole or not at all.

The folder is named by the prompt's hash, so that a file that was changed later is not taken for what was measured.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from everloop.errors import CheckpointCorrupt, InvalidRequest, StorageFull
from everloop.loop.context import Context
from everloop.students.prompt import Prompt

FILE = "prompt.json"
_LARGEST = 1 << 20
_DIGITS = 16


def write(context: Context, name: str, prompt: Prompt) -> str:
    """Write a prompt; returns its folder relative to the run's. StorageFull when there is no room."""
    relative = f"prompts/{name}-{prompt.sha256[:_DIGITS]}"
    folder = context.paths.root / relative
    partial = folder / f".{FILE}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(prompt.to_json(), indent=2, sort_keys=True, ensure_ascii=False))
        partial.replace(folder / FILE)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        why = error.strerror or str(error)
        raise StorageFull(f"{relative} could not be written", why=why, then="Free some room, then resume") from error
    return relative


def read(folder: Path) -> Prompt:
    """The prompt of a folder. CheckpointCorrupt when there is none, it is a link, or it is not one."""
    path = folder / FILE
    if path.is_symlink() or folder.is_symlink():
        raise CheckpointCorrupt(f"prompt {folder.name} is a symbolic link", why="its text could change unseen")
    try:
        data = path.read_bytes()
        if len(data) > _LARGEST:
            raise CheckpointCorrupt(f"prompt {folder.name} is too large")
        prompt = Prompt.from_json(json.loads(data))
    except (OSError, ValueError, InvalidRequest) as error:
        raise CheckpointCorrupt(f"prompt {folder.name} cannot be read", why=str(error)) from error
    if not folder.name.endswith(f"-{prompt.sha256[:_DIGITS]}"):
        raise CheckpointCorrupt(f"prompt {folder.name} was changed", why=f"its hash is {prompt.sha256[:_DIGITS]} now")
    return prompt
