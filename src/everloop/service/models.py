"""Configuring models: add, find, list, remove, and one small request to see that a model answers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from sqlalchemy import Connection

from everloop.errors import InvalidRequest, ModelNotConfigured
from everloop.events import Json
from everloop.gateway.base import KeySource, ModelEntry, Purpose, Use
from everloop.gateway.entries import checked, document_of, entry_of
from everloop.gateway.secrets import Secrets, checked_key
from everloop.service.installation import Installation
from everloop.store import models

if TYPE_CHECKING:
    from pydantic_ai import ModelResponse

    from everloop.gateway.gateway import Gateway
    from everloop.gateway.memory_account import MemoryAccount

TEST_USD_CAP = 0.05
"""Most US dollars that `test` can spend."""
TEST_TOKENS = 256
"""Most output tokens that `test` asks for; a model that thinks first needs some room."""
TEST_SECONDS = 60.0
"""Longest that `test` waits for the answer."""
TEST_REQUEST = "Answer with the one word: ready"
"""What `test` asks."""
OWN = {"openai": "openai.com", "anthropic": "anthropic.com"}
"""Provider -> domain of its own endpoints, where the price list holds."""

T = TypeVar("T")


def add(installation: Installation, entry: ModelEntry, key: str | None, *, allow_http: bool = False) -> ModelEntry:
    """Configure a model, or replace the one of that name together with its key.

    InvalidRequest for a field that cannot be accepted; ModelNotConfigured when no price is known for it.
    """
    if entry.key_source is KeySource.FILE:
        entry = replace(entry, key_name="")
    checked(entry, allow_http=allow_http)
    _check_usable(entry)
    keys = Secrets(installation.home)
    if entry.key_source is not KeySource.FILE:
        if key is not None:
            raise InvalidRequest("a key was given", why=f"the key of {entry.name} is not kept in a file")
        _replaced(keys, _put(installation, entry), entry)
        return entry
    if key is None:
        raise InvalidRequest(f"model {entry.name} needs a key", why="none was given", then="Use --key-stdin")
    # Whoever reads an entry, old or new, finds the key that was given for it: the new file is there before the new
    # entry, and the old one goes after the old entry.
    entry = replace(entry, key_name=keys.write(checked_key(key)))
    try:
        old = _put(installation, entry)
    except BaseException:
        keys.remove(entry.key_name)
        raise
    _replaced(keys, old, entry)
    return entry


def find(installation: Installation, name: str) -> ModelEntry:
    """The model of that name; ModelNotConfigured tells which there are."""
    return entry_of(_read(installation, lambda tx: models.require(tx, name)).document)


def listing(installation: Installation) -> list[ModelEntry]:
    """All models, first added first."""
    return [entry_of(row.document) for row in _read(installation, models.listing)]


def remove(installation: Installation, name: str) -> None:
    """Forget a model and delete its key file. ModelNotConfigured when there is none of that name."""
    entry = find(installation, name)
    # The key goes first: a failure between the two must not leave a key behind that nothing names.
    if entry.key_source is KeySource.FILE:
        Secrets(installation.home).remove(entry.key_name)
    _written(installation, lambda tx: models.remove(tx, entry.name))


def default_for(installation: Installation, use: Use) -> ModelEntry | None:
    """The first model that was configured for a use; None without one."""
    return next((entry for entry in listing(installation) if use in entry.uses), None)


def secret(installation: Installation, entry: ModelEntry) -> str | None:
    """The model's key, None when it takes none. For the gateway alone: never print, log or store it."""
    return Secrets(installation.home).read(entry)


def open_gateway(installation: Installation) -> Gateway:
    """A gateway over the models of this installation; close it."""
    from everloop.gateway import opening

    return opening.open_gateway(installation.settings, installation.database)


def test(installation: Installation, name: str) -> Json:
    """Ask the model for one word, within `TEST_USD_CAP`: what it answers, how long it takes and what it costs."""
    from everloop.gateway.memory_account import MemoryAccount

    entry = find(installation, name)
    account = MemoryAccount(usd_cap=TEST_USD_CAP)
    gateway = _trying(installation)
    try:
        begun = time.monotonic()
        response = _asked(gateway, entry, account)
        seconds = time.monotonic() - begun
    finally:
        gateway.close()
    return {
        "model": entry.name,
        "answer": _text(response),
        "seconds": round(seconds, 3),
        "input_tokens": response.usage.input_tokens,
        "output_tokens": response.usage.output_tokens,
        "requests": account.requests,
        "usd": account.spent.usd,
    }


def _trying(installation: Installation) -> Gateway:
    """A gateway for a person who waits: one attempt, for a minute at most."""
    from everloop.gateway.gateway import Gateway
    from everloop.gateway.opening import limits_of

    limits = limits_of(installation.settings)
    bounded = replace(limits, retries=0, deadline_seconds=min(limits.deadline_seconds, TEST_SECONDS))
    return Gateway(lambda name: find(installation, name), Secrets(installation.home).read, bounded)


def _asked(gateway: Gateway, entry: ModelEntry, account: MemoryAccount) -> ModelResponse:
    from pydantic_ai import ModelRequest
    from pydantic_ai.direct import model_request
    from pydantic_ai.settings import ModelSettings

    model = gateway.model(entry.name, account, f"test-{uuid.uuid4().hex}", Purpose.MODEL)
    settings = ModelSettings(max_tokens=min(entry.max_tokens, TEST_TOKENS))
    asked = [ModelRequest.user_text_prompt(TEST_REQUEST)]
    return gateway.run(model_request(model, asked, model_settings=settings))


def _text(response: ModelResponse) -> str | None:
    """The answer's text; None when the model said nothing."""
    return (response.text or "").strip() or None


def _put(installation: Installation, entry: ModelEntry) -> ModelEntry | None:
    """Store the entry; the one it replaces, if there was one."""

    def put(tx: Connection) -> ModelEntry | None:
        known = models.get(tx, entry.name)
        models.put(tx, entry.name, document_of(entry))
        return None if known is None else entry_of(known.document)

    return _written(installation, put)


def _replaced(keys: Secrets, old: ModelEntry | None, new: ModelEntry) -> None:
    """Delete the key file of an entry that was replaced."""
    if old is not None and old.key_source is KeySource.FILE and old.key_name != new.key_name:
        keys.remove(old.key_name)


def _check_usable(entry: ModelEntry) -> None:
    """That the gateway can speak to it and knows its price; nothing is sent."""
    from pydantic_ai.exceptions import UserError

    from everloop.gateway.prices import price_of
    from everloop.gateway.provider import NO_KEY, build
    from everloop.gateway.transport import sealed_client

    try:
        build(entry, NO_KEY, sealed_client())
    except UserError as error:
        why = str(error).splitlines()[0]
        raise InvalidRequest(f"the provider {entry.provider!r} cannot be used", why=why) from error
    then = "Give --input-price and --output-price, US dollars for a million tokens; 0 and 0 for a local model"
    if entry.input_usd_per_mtok is None and not _at_home(entry):
        host = urlsplit(entry.base_url).hostname
        why = f"the price list holds for endpoints of {entry.provider} itself, and {host} is none"
        raise ModelNotConfigured(f"model {entry.name} has no known price", why=why, then=then)
    try:
        price_of(entry)
    except ModelNotConfigured as error:
        raise ModelNotConfigured(error.what, why=error.why, then=then) from error


def _at_home(entry: ModelEntry) -> bool:
    """Whether an entry's endpoint is its provider's own; what another one asks is not known."""
    if not entry.base_url:
        return True
    own, host = OWN.get(entry.provider), urlsplit(entry.base_url).hostname or ""
    return own is not None and (host == own or host.endswith(f".{own}"))


def _read(installation: Installation, work: Callable[[Connection], T]) -> T:
    def once() -> T:
        with installation.database.read() as tx:
            return work(tx)

    return installation.database.retrying(once)


def _written(installation: Installation, work: Callable[[Connection], T]) -> T:
    def once() -> T:
        with installation.database.write(durable=True) as tx:
            return work(tx)

    return installation.database.retrying(once)
