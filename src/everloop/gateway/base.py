"""What a model, a call and an account are. Implementations stand beside this file; it imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from everloop.events import JsonValue


class Use(StrEnum):
    """What a configured model may be used for."""

    OPERATOR = "operator"
    """Proposes candidates."""
    AUDITOR = "auditor"
    """Reviews candidates."""
    STUDENT = "student"
    """Is measured in dry runs."""
    CANDIDATE = "candidate"
    """Is called by candidate code, through ``el gateway serve``."""


class Purpose(StrEnum):
    """Which caps a call counts against."""

    MODEL = "model"
    """``model_request_cap``, ``request_cap`` and the dollar caps."""
    STUDENT = "student"
    """``student_request_cap``, ``request_cap`` and the dollar caps."""


class KeySource(StrEnum):
    """Where the API key of a model comes from. The key itself is never stored with the entry."""

    NONE = "none"
    """The endpoint takes no key."""
    FILE = "file"
    """A file of its own in ``HOME/keys``, mode 0600; `ModelEntry.key_name` names it."""
    ENVIRONMENT = "environment"
    """An environment variable of the process that holds the gateway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A configured model; holds no secret."""

    name: str
    """Name in this installation: 1..64 of a-z, 0-9, dot, dash, underscore."""
    provider: str
    """Wire shape: ``openai`` (any compatible endpoint), ``anthropic``, or another provider of pydantic-ai."""
    model: str
    """The model's id at its provider."""
    base_url: str = ""
    """Endpoint; empty: the provider's own."""
    key_source: KeySource = KeySource.NONE
    """Where its API key comes from."""
    key_name: str = ""
    """Environment variable that holds the key, or id of its key file; which one, `key_source` tells."""
    uses: tuple[Use, ...] = ()
    """What it may be used for; the first model configured for a use is that use's default."""
    input_usd_per_mtok: float | None = None
    """Owner's price of a million input tokens, US dollars; None: the price list's."""
    output_usd_per_mtok: float | None = None
    """Owner's price of a million output tokens; None: the price list's."""
    max_tokens: int = 2048
    """Most output tokens of a call that asks for no other bound; part of its worst case."""
    concurrency: int = 8
    """Calls at once, in each process."""
    requests_per_minute: int | None = None
    """Requests a minute, in each process; None: no bound."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """Further model settings of every call, e.g. ``{"temperature": 0.2}``."""

    def identity(self) -> dict[str, JsonValue]:
        """What makes a student the same student, for a protocol; its price and the pace of its calls may change."""
        return {
            "name": self.name,
            "provider": self.provider,
            "model": self.model,
            "base_url": self.base_url,
            "settings": dict(self.settings),
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One logical request to a model, however often it is attempted."""

    key: str
    """Names the call in its account: the same call after a crash has the same key."""
    digest: str
    """SHA-256 hex of what is asked; another question under the same key is another call."""
    model: str
    """`ModelEntry.name`."""
    purpose: Purpose
    """Which caps it counts against."""

    @property
    def identity(self) -> str:
        """Key and digest: what an answer is journalled under."""
        return f"{self.key}#{self.digest[:16]}"


@dataclass(frozen=True, slots=True)
class Charge:
    """What one attempt costs, or may cost at worst."""

    micros: int
    """Micro-dollars, rounded up."""
    requests: int = 1
    """Requests it counts as: 1, or 0 when nothing was sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A journalled answer."""

    response: str
    """The model's response as JSON (pydantic-ai's ``ModelResponse``)."""
    micros: int
    """What it cost, all attempts together."""


class Account(Protocol):
    """Who pays for calls, and what was answered before. Safe for concurrent use from one event loop."""

    async def known(self, call: Call) -> Answer | None:
        """The journalled answer, if there is one; reserves nothing. A call that is answered waits for no turn."""

    async def begin(self, call: Call, worst: Charge) -> Answer | None:
        """Before an attempt: the journalled answer if there is one (then nothing is reserved), else reserve `worst`.

        CapReached when a cap would be passed; nothing is reserved then. An attempt of the same call that was left open
        by a process that died is charged at its worst case in the same step. One transaction.
        """

    async def end(self, call: Call, cost: Charge, response: str | None) -> None:
        """After an attempt: turn its reservation into `cost`, and journal the response if there is one.

        An attempt whose outcome is unknown (cut off, timed out, cancelled) is ended at its worst case. One transaction.
        """
