"""Statements both databases understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import RowMapping

from everloop.values import built

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def _insert(tx: Connection, table: Table) -> Any:
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)


def insert_once(tx: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert unless the key is there; True when it was inserted."""
    return tx.execute(_inserting(tx.dialect.name, table), dict(values)).first() is not None


@cache
def _inserting(dialect: str, table: Table) -> Any:
    """Built once: of a call to a model, building it would take longer than running it."""
    statement = (sqlite if dialect == "sqlite" else postgresql).insert(table).on_conflict_do_nothing()
    # RETURNING, not rowcount: psycopg's rowcount of an insert does not reach us, and -1 would read as "inserted"
    return statement.returning(*table.primary_key)


def insert_new(tx: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose keys are not there; one statement, prepared once, for all of them."""
    if rows:
        tx.execute(_insert(tx, table).on_conflict_do_nothing(), [dict(row) for row in rows])


def raise_to(tx: Connection, table: Table, column: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, or raise `column` of the row with the same primary key; a greater value stays."""
    if not rows:
        return
    statement = _insert(tx, table)
    keys, new = [one.name for one in table.primary_key], statement.excluded[column]
    raising = statement.on_conflict_do_update(index_elements=keys, set_={column: new}, where=table.c[column] < new)
    tx.execute(raising, [dict(row) for row in rows])


def replace_changed(tx: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, but: str) -> None:
    """Insert rows; one whose key is there is replaced where any column but `but` differs, and stays otherwise."""
    if not rows:
        return
    statement = _insert(tx, table)
    keys = [one.name for one in table.primary_key]
    rest = {one.name: statement.excluded[one.name] for one in table.columns if one.name not in keys}
    differs = [table.c[name].is_distinct_from(new) for name, new in rest.items() if name != but]
    replacing = statement.on_conflict_do_update(index_elements=keys, set_=rest, where=sa.or_(*differs))
    tx.execute(replacing, [dict(row) for row in rows])


def upsert(tx: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert, or replace the other columns of the row with this primary key."""
    keys = [column.name for column in table.primary_key]
    rest = {name: value for name, value in values.items() if name not in keys}
    statement = _insert(tx, table).values(**values)
    tx.execute(statement.on_conflict_do_update(index_elements=keys, set_=rest))


def make(cls: type[T], mapping: RowMapping) -> T:
    """A dataclass from a row that has (at least) its fields."""
    return built(cls, {field.name: mapping[field.name] for field in fields(cls)})
