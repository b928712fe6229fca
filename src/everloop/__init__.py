"""Improvement loops that keep only improvements that survive evidence."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everloop.client import AsyncClient as AsyncClient
    from everloop.client import Client as Client

__version__ = "0.1.0"
__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> object:
    """The clients, imported when they are asked for: everything else does without HTTP."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("everloop.client"), name)
