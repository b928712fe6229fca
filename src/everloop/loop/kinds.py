"""The kind of a run, by its mode."""

from __future__ import annotations

from everloop.loop.context import Context
from everloop.loop.kind import Kind
from everloop.loop.model import TrainingKind
from everloop.loop.prompted import PromptKind


def kind_of(context: Context) -> Kind:
    """Live runs train; dry runs change a prompt."""
    return PromptKind() if context.dry else TrainingKind()
