"""Whole transactions of the use cases on people, projects and keys, tried again while the database is away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from everloop.service.installation import Installation

T = TypeVar("T")


def reading(installation: Installation, work: Callable[[Connection], T]) -> T:
    """What `work` reads."""

    def once() -> T:
        with installation.database.read() as tx:
            return work(tx)

    return installation.database.retrying(once)


def writing(installation: Installation, work: Callable[[Connection], T]) -> T:
    """What `work` returns, once what it wrote would survive a power cut."""

    def once() -> T:
        with installation.database.write(durable=True) as tx:
            return work(tx)

    return installation.database.retrying(once)
