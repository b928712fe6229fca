"""Keys of the served gateway: who may ask it for what, and on whose account."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from everloop.store._sql import make
from everloop.store.tables import caps, gateway_keys
from everloop.values import iso, utcnow


@dataclass(frozen=True, slots=True)
class GatewayKeyRow:
    """A key as the store holds it; the key itself is not here."""

    prefix: str
    """Its public part."""
    hash: str
    """SHA-256 hex of the key."""
    name: str
    """What it is for, in its owner's words."""
    account: str
    """Who pays: ``gateway:PREFIX``, or the id of a run."""
    models: list[str]
    """Names of the models it may use."""
    created_at: str
    """ISO time."""
    expires_at: str | None
    """ISO time after which it is refused; None: never."""
    revoked_at: str | None
    """ISO time it was revoked; None: it was not."""
    used_at: str | None
    """ISO time of its last use, to the minute; None: never used."""


def create(tx: Connection, row: GatewayKeyRow) -> None:
    """Store a new key."""
    values = {name: getattr(row, name) for name in GatewayKeyRow.__dataclass_fields__}
    tx.execute(sa.insert(gateway_keys).values(**values))


def get(tx: Connection, prefix: str) -> GatewayKeyRow | None:
    """A key; None when there is none of this prefix."""
    found = tx.execute(sa.select(gateway_keys).where(gateway_keys.c.prefix == prefix)).mappings().first()
    return make(GatewayKeyRow, found) if found else None


def listing(tx: Connection) -> list[GatewayKeyRow]:
    """All keys, oldest first."""
    query = sa.select(gateway_keys).order_by(gateway_keys.c.created_at, gateway_keys.c.prefix)
    return [make(GatewayKeyRow, found) for found in tx.execute(query).mappings()]


def revoke(tx: Connection, prefix: str) -> bool:
    """Refuse a key from now on; False when it was revoked before or is not there."""
    where = (gateway_keys.c.prefix == prefix, gateway_keys.c.revoked_at.is_(None))
    return bool(tx.execute(sa.update(gateway_keys).where(*where).values(revoked_at=iso(utcnow()))).rowcount)


def used(tx: Connection, prefix: str) -> None:
    """Note that a key is used now."""
    tx.execute(sa.update(gateway_keys).where(gateway_keys.c.prefix == prefix).values(used_at=iso(utcnow())))


@dataclass(frozen=True, slots=True)
class Meter:
    """How far one cap of an account is used; micro-dollars or whole requests."""

    cap: str
    """Name of the cap."""
    limit: int | None
    """Its bound; None: metered without one."""
    reserved: int
    """Held for requests under way."""
    spent: int
    """Spent for good."""


def meters(tx: Connection, account: str) -> dict[str, Meter]:
    """The meters of an account, by cap; none for an account that was never opened."""
    found = tx.execute(sa.select(caps).where(caps.c.run == account)).mappings()
    return {row["cap"]: make(Meter, row) for row in found}
