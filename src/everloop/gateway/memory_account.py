"""An account in memory: for a notebook, a check of an endpoint, and tests. A run's account is in the ledger."""

from __future__ import annotations

from everloop.errors import CapReached
from everloop.gateway.base import Answer, Call, Charge
from everloop.values import Money


class MemoryAccount:
    """Caps on dollars and requests, for one process and as long as it lives."""

    def __init__(self, *, usd_cap: float | None = None, request_cap: int | None = None) -> None:
        self._micros_cap = None if usd_cap is None else Money.from_usd(usd_cap).micros
        self._request_cap = request_cap
        self._micros = self._requests = 0
        self._held: dict[str, Charge] = {}
        self._held_micros = self._held_requests = 0
        self._costs: dict[str, int] = {}
        self._answers: dict[str, str] = {}

    @property
    def spent(self) -> Money:
        """What ended attempts cost."""
        return Money(self._micros)

    @property
    def held(self) -> Money:
        """What attempts under way may cost at worst."""
        return Money(self._held_micros)

    @property
    def requests(self) -> int:
        """Requests that were sent."""
        return self._requests

    async def known(self, call: Call) -> Answer | None:
        """The journalled answer, if there is one."""
        response = self._answers.get(call.identity)
        return None if response is None else Answer(response, self._costs[call.identity])

    async def begin(self, call: Call, worst: Charge) -> Answer | None:
        """The journalled answer, or None once `worst` is reserved. CapReached when a cap would be passed."""
        identity = call.identity
        if (response := self._answers.get(identity)) is not None:
            return Answer(response, self._costs[identity])
        if (lost := self._let_go(identity)) is not None:
            self._spend(identity, lost)
        self._check("usd_cap", self._micros_cap, self._micros + self._held_micros, worst.micros)
        self._check("request_cap", self._request_cap, self._requests + self._held_requests, worst.requests)
        self._held[identity] = worst
        self._held_micros += worst.micros
        self._held_requests += worst.requests
        return None

    async def end(self, call: Call, cost: Charge, response: str | None) -> None:
        """Turn the reservation into `cost` and keep the answer; nothing when none is held."""
        if self._let_go(call.identity) is None:
            return
        self._spend(call.identity, cost)
        if response is not None:
            self._answers[call.identity] = response

    def _let_go(self, identity: str) -> Charge | None:
        charge = self._held.pop(identity, None)
        if charge is not None:
            self._held_micros -= charge.micros
            self._held_requests -= charge.requests
        return charge

    def _spend(self, identity: str, cost: Charge) -> None:
        self._micros += cost.micros
        self._requests += cost.requests
        self._costs[identity] = self._costs.get(identity, 0) + cost.micros

    @staticmethod
    def _check(cap: str, limit: int | None, taken: int, worst: int) -> None:
        if limit is not None and taken + worst > limit:
            why = f"{taken} of {limit} are spent or held and this call may need {worst}"
            raise CapReached(f"{cap} would be passed", why=why, then="Raise the cap or finish what is under way")
