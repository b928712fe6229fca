"""The gateway: models by name, lines kept per event loop, and an event loop of its own for synchronous callers."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Self, TypeVar
from weakref import WeakKeyDictionary

from everloop.errors import Conflict, ModelNotConfigured, ModelUnavailable
from everloop.gateway.base import Account, ModelEntry, Purpose
from everloop.gateway.limits import GatewayLimits
from everloop.gateway.prices import Price, price_of
from everloop.gateway.whole import UNDER_WAY

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from everloop.gateway.line import Line
    from everloop.gateway.model import GatewayModel

T = TypeVar("T")

CLOSING_SECONDS = 10.0
DEFAULT_LIMITS = GatewayLimits()


class Gateway:
    """The only way to a model. Threads may share it."""

    def __init__(
        self,
        find: Callable[[str], ModelEntry],
        secret: Callable[[ModelEntry], str | None],
        limits: GatewayLimits = DEFAULT_LIMITS,
    ) -> None:
        self._find, self._secret, self._limits = find, secret, limits
        self._lock = threading.RLock()
        self._entries: dict[str, ModelEntry] = {}
        self._described: dict[str, tuple[ModelEntry, Model]] = {}
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Line]] = WeakKeyDictionary()
        self._retiring: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def model(self, name: str, account: Account, key: str, purpose: Purpose = Purpose.MODEL) -> GatewayModel:
        """A model as `account` may use it; its n-th request is the call ``KEY.n``. ModelNotConfigured when unknown."""
        from everloop.gateway.model import GatewayModel

        entry = self._entry(name)
        return GatewayModel(self._description(entry), lambda: self._line(name), account, key, purpose)

    def price(self, name: str) -> Price:
        """The price of a model now. ModelNotConfigured when it is unknown and the owner set none."""
        return price_of(self._entry(name))

    def run(self, work: Callable[[], Awaitable[T]] | Awaitable[T]) -> T:
        """From synchronous code: do `work` in the gateway's own event loop and wait for it."""
        if threading.current_thread() is self._thread:
            raise Conflict("the gateway waits for itself", then="Await the work instead of running it")

        async def all_of_it() -> T:
            return await (work() if callable(work) else work)

        with self._lock:  # `close` takes it too: what is handed in before the loop is told to stop is done or cancelled
            future = asyncio.run_coroutine_threadsafe(all_of_it(), self._own_loop())
        try:
            return future.result()
        except CancelledError:
            raise _closed() from None
        except BaseException:
            future.cancel()  # an interrupted caller leaves nothing running
            raise

    async def aclose(self) -> None:
        """Close the lines of the running event loop; needed in a loop that is not the gateway's own."""
        with self._lock:
            lines = self._lines.pop(asyncio.get_running_loop(), {})
        for line in lines.values():
            await line.close()

    def close(self) -> None:
        """Close all lines and end the gateway's thread. It starts again when it is used again."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            others = [one for one in self._lines if one is not loop and one.is_running()]
        for other in others:
            asyncio.run_coroutine_threadsafe(self.aclose(), other)
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self.aclose(), loop).result(CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSING_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entry(self, name: str) -> ModelEntry:
        try:
            entry = self._find(name)
        except LookupError:
            raise ModelNotConfigured(
                f"no model is called {name!r}", then="`el model list` shows what is configured, `el model add` adds one"
            ) from None
        with self._lock:
            self._entries[name] = entry
        return entry

    def _description(self, entry: ModelEntry) -> Model:
        from everloop.gateway.provider import NO_KEY, build
        from everloop.gateway.transport import sealed_client

        with self._lock:
            known = self._described.get(entry.name)
            if known is None or known[0] != entry:
                known = self._described[entry.name] = (entry, build(entry, NO_KEY, sealed_client()))
            return known[1]

    def _line(self, name: str) -> Line:
        """The line of the running event loop to a model, renewed when the model's entry has changed."""
        from everloop.gateway.line import Line

        loop = asyncio.get_running_loop()
        with self._lock:
            entry = self._entries[name]
            lines = self._lines.setdefault(loop, {})
            old = lines.get(name)
            if old is not None and old.entry == entry and not old.stale:
                return old
            lines[name] = line = Line(entry, self._secret(entry), self._limits)
            if old is not None and old.entry == entry:
                line.take_over(old)
        if old is not None:
            task = loop.create_task(old.retire())
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
        return line

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = _new_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="gateway", daemon=True)
                self._thread.start()
            return self._loop


def _closed() -> ModelUnavailable:
    return ModelUnavailable("the gateway was closed", why="it was used and closed at the same time", then="Try again")


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped, and close it with everything in it."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks - set(UNDER_WAY):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
