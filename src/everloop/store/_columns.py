"""What tables share: one MetaData, the run in front of a key, numbers that the database gives."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, String

metadata = MetaData()
"""Every table of ours."""

ID = BigInteger().with_variant(Integer, "sqlite")
"""Type of a number that the database gives."""


def run_key() -> Column[str]:
    """The run, first in the key of the rows it owns, so that each query reads one range of an index."""
    return Column("run", String(64), primary_key=True)
