"""The served gateway: its keys, and serving it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from pathlib import Path

from everloop import tokens
from everloop.errors import InvalidRequest, ModelNotConfigured
from everloop.events import Json
from everloop.gateway.base import ModelEntry, Use
from everloop.ledger import caps
from everloop.service import models
from everloop.service.installation import Installation
from everloop.store import gateway_keys, runs
from everloop.store.gateway_keys import GatewayKeyRow, Meter
from everloop.values import MICRO, iso, utcnow

MAX_USD = 1_000_000.0
"""Largest dollar cap of a key."""
MAX_REQUESTS = 1_000_000_000
"""Largest request cap of a key."""
MAX_DAYS = 3650.0
"""Longest life of a key that expires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """What a new key is to be: with caps of its own, or bound to a run and its caps."""

    name: str = ""
    """What it is for; up to 128 printable characters."""
    usd_cap: float | None = None
    """US dollars its account may spend, above 0; required unless `run` is given."""
    request_cap: int | None = None
    """Requests its account may make, from 1; None: no bound."""
    models: Sequence[str] = ()
    """Models it may use; none: all that are configured for candidates now."""
    expires_days: float | None = None
    """Days after which it is refused, above 0; None: it does not expire."""
    run: str | None = None
    """Run whose account pays; then the key has no caps of its own."""


@dataclass(frozen=True, slots=True)
class KeyState:
    """A key and how far its account is used."""

    row: GatewayKeyRow
    """The key as stored."""
    meters: dict[str, Meter]
    """Meters of its account, by cap."""

    @property
    def state(self) -> str:
        """``active``, ``expired`` or ``revoked``."""
        if self.row.revoked_at is not None:
            return "revoked"
        return "expired" if self.row.expires_at is not None and self.row.expires_at <= str(iso(utcnow())) else "active"

    def to_json(self) -> Json:
        """As a document; a cap without a bound is null."""
        row, money, requests = self.row, self.meters.get("usd_cap"), self.meters.get("request_cap")
        return {
            "prefix": row.prefix,
            "name": row.name,
            "state": self.state,
            "account": row.account,
            "models": list(row.models),
            "usd_cap": None if money is None or money.limit is None else money.limit / MICRO,
            "usd_spent": None if money is None else money.spent / MICRO,
            "usd_reserved": None if money is None else money.reserved / MICRO,
            "request_cap": None if requests is None else requests.limit,
            "requests": None if requests is None else requests.spent,
            "created_at": row.created_at,
            "expires_at": row.expires_at,
            "revoked_at": row.revoked_at,
            "used_at": row.used_at,
        }


def create_key(installation: Installation, request: KeyRequest) -> tuple[str, KeyState]:
    """A new key and its state; the key is returned here and never again.

    InvalidRequest, ModelNotConfigured or RunNotFound when it cannot be made as asked.
    """
    _checked(request)
    minted = tokens.mint(tokens.GATEWAY)
    usable = _usable(models.listing(installation), request.models)
    now = utcnow()
    expires = None if request.expires_days is None else now + timedelta(days=request.expires_days)
    limits: Json = {"model_usd_cap": request.usd_cap, "usd_cap": request.usd_cap, "request_cap": request.request_cap}

    def write() -> KeyState:
        with installation.database.write(durable=True) as tx:
            if request.run is not None:
                runs.require(tx, request.run)
            account = request.run or f"gateway:{minted.prefix}"
            row = GatewayKeyRow(
                prefix=minted.prefix,
                hash=minted.hash,
                name=request.name,
                account=account,
                models=usable,
                created_at=str(iso(now)),
                expires_at=iso(expires),
                revoked_at=None,
                used_at=None,
            )
            if request.run is None:
                caps.open_caps(tx, account, limits)
            gateway_keys.create(tx, row)
            return KeyState(row, gateway_keys.meters(tx, account))

    return minted.key, installation.database.retrying(write)


def list_keys(installation: Installation) -> list[KeyState]:
    """All keys, oldest first."""

    def read() -> list[KeyState]:
        with installation.database.read() as tx:
            return [KeyState(row, gateway_keys.meters(tx, row.account)) for row in gateway_keys.listing(tx)]

    return installation.database.retrying(read)


def revoke_key(installation: Installation, prefix: str) -> KeyState:
    """Refuse a key from its next request on; a key that was revoked before stays so. InvalidRequest without it.

    `prefix`: the key's public part, ``elg_PREFIX`` or the whole key.
    """
    found = tokens.prefix_of(prefix, tokens.GATEWAY) or prefix

    def write() -> KeyState:
        with installation.database.write(durable=True) as tx:
            gateway_keys.revoke(tx, found)
            row = gateway_keys.get(tx, found)
            if row is None:
                raise InvalidRequest("there is no such key", then="List the keys with `el gateway key list`")
            return KeyState(row, gateway_keys.meters(tx, row.account))

    return installation.database.retrying(write)


def serve(
    installation: Installation,
    *,
    socket: Path | None = None,
    port: int | None = None,
    ready_file: Path | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve on a unix socket or a loopback port until SIGTERM or SIGINT; `told` gets the address once it is ready."""
    from everloop import listening
    from everloop.gateway.ledger_account import LedgerAccount
    from everloop.gateway.serving.server import Endpoint, app

    if (socket is None) == (port is None):
        raise InvalidRequest("name a socket or a port", why="one of the two, not both")
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    database = installation.database
    with ExitStack() as stack:
        if socket is not None:
            listener = stack.enter_context(listening.unix_socket(socket))
            place: Json = {"socket": str(socket.absolute())}
        else:
            listener = stack.enter_context(listening.loopback_port(port or 0))
            place = {"url": f"http://{listening.HOST}:{listener.getsockname()[1]}/v1"}

        def ready() -> None:
            stack.enter_context(listening.ready_file(ready_file, place))
            told(str(*place.values()))

        gateway = stack.enter_context(models.open_gateway(installation))
        endpoint = Endpoint(
            database,
            gateway,
            lambda name: models.find(installation, name),
            lambda account: LedgerAccount(database, account),
        )
        listening.serve(app(endpoint, port=socket is None), listener, ready)


def _checked(request: KeyRequest) -> None:
    if request.run is not None and (request.usd_cap is not None or request.request_cap is not None):
        raise InvalidRequest(
            "a key of a run has no caps of its own", why="the run's caps hold", then="Give one of both"
        )
    if request.run is None and request.usd_cap is None:
        raise InvalidRequest("a key needs a dollar cap", then="Give one, or bind the key to a run")
    if request.usd_cap is not None and not (isfinite(request.usd_cap) and 1 / MICRO <= request.usd_cap <= MAX_USD):
        raise InvalidRequest(f"{request.usd_cap} is no dollar cap", why=f"it is above 0, up to {MAX_USD:,.0f}")
    if request.request_cap is not None and not 1 <= request.request_cap <= MAX_REQUESTS:
        raise InvalidRequest(f"{request.request_cap} is no request cap", why=f"it is 1 to {MAX_REQUESTS:,}")
    if request.expires_days is not None and not 0 < request.expires_days <= MAX_DAYS:
        raise InvalidRequest(f"{request.expires_days} is no life of a key", why=f"above 0, up to {MAX_DAYS:g} days")
    if len(request.name) > 128 or not (request.name.isprintable() or not request.name):
        raise InvalidRequest("this name cannot be accepted", why="up to 128 printable characters")


def _usable(entries: Sequence[ModelEntry], wanted: Sequence[str]) -> list[str]:
    """The models a new key gets. ModelNotConfigured for one that candidates may not use, or when there is none."""
    offered = [entry.name for entry in entries if Use.CANDIDATE in entry.uses]
    for name in wanted:
        if name not in offered:
            why = f"configured for them: {', '.join(offered) or 'none'}"
            raise ModelNotConfigured(f"candidates may not use model {name!r}", why=why, then="See `el model`")
    if not offered:
        raise ModelNotConfigured("no model is configured for candidates", then="Add one with `el model add`")
    return list(dict.fromkeys(wanted)) or offered
