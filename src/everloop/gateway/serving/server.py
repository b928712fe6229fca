"""The gateway as an OpenAI-compatible endpoint: own keys, own caps, nothing of the providers behind it."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Protocol

from pydantic import ValidationError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from everloop import tokens
from everloop.errors import ModelNotConfigured, StoreUnavailable
from everloop.gateway.base import Account, Answer, Call, Charge, ModelEntry, Purpose, Use
from everloop.gateway.serving import doors
from everloop.gateway.serving.completion import Completion
from everloop.gateway.serving.question import question
from everloop.gateway.serving.refusals import Refusal, log, malformed, refusal
from everloop.gateway.serving.streaming import Stream
from everloop.gateway.serving.wire import ChatRequest
from everloop.ledger import calls
from everloop.store import gateway_keys
from everloop.store.database import Database
from everloop.store.gateway_keys import GatewayKeyRow
from everloop.values import iso, utcnow

USED_EVERY = timedelta(minutes=1)
"""A key's last use is noted at most this often."""
IDLE_ACCOUNTS = 8
"""Accounts that stay open while no request uses them; each holds a thread or a few."""

Handler = Callable[[Request], Awaitable[Response]]


class Models(Protocol):
    """What makes models; the gateway."""

    def model(self, name: str, account: Account, key: str, purpose: Purpose) -> Model:
        """A model whose requests `account` pays for, under call keys that begin with `key`."""

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""


class OpenAccount(Account, Protocol):
    """An account that holds threads."""

    def close(self) -> None:
        """End them."""


class Accounts:
    """The accounts of the keys in use. Threads may share it."""

    def __init__(self, open_account: Callable[[str], OpenAccount]) -> None:
        self._open, self._lock = open_account, threading.Lock()
        self._accounts: dict[str, OpenAccount] = {}
        self._users: dict[str, int] = {}

    def take(self, name: str) -> OpenAccount:
        """An account, until it is given back. Closes those idle for longest, and may wait for their threads."""
        with self._lock:
            account = self._accounts.pop(name, None) or self._open(name)
            self._accounts[name] = account  # the last one taken stands last
            self._users[name] = self._users.get(name, 0) + 1
            idle = [one for one in self._accounts if one not in self._users]
            surplus = [self._accounts.pop(one) for one in idle[: max(0, len(idle) - IDLE_ACCOUNTS)]]
        for one in surplus:
            one.close()
        return account

    def give_back(self, name: str) -> None:
        """Take one user off an account."""
        with self._lock:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]

    def close(self) -> None:
        """Close all of them."""
        for account in self._accounts.values():
            account.close()


class Unjournalled:
    """An account that keeps no answers: a served request has a key of its own and is never asked again."""

    def __init__(self, account: Account, forget: Callable[[Call], None], settling: set[asyncio.Task[None]]) -> None:
        self._account, self._forget, self._settling = account, forget, settling

    async def known(self, call: Call) -> Answer | None:  # noqa: ARG002 - Account's signature
        """Nothing is known of a request that was never asked before."""
        return None

    async def begin(self, call: Call, worst: Charge) -> Answer | None:
        """As the account does."""
        return await self._account.begin(call, worst)

    async def end(self, call: Call, cost: Charge, response: str | None) -> None:  # noqa: ARG002 - Account's signature
        """Settle the attempt and forget the call, also when the caller is cancelled meanwhile."""
        task = asyncio.create_task(self._ended(call, cost))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        await asyncio.shield(task)

    async def _ended(self, call: Call, cost: Charge) -> None:
        await self._account.end(call, cost, None)
        try:
            await asyncio.to_thread(self._forget, call)
        except StoreUnavailable:
            log.warning("the record of a settled request stays: the database does not answer")


class Endpoint:
    """The routes, and what they need."""

    def __init__(
        self,
        database: Database,
        gateway: Models,
        find: Callable[[str], ModelEntry],
        open_account: Callable[[str], OpenAccount],
    ) -> None:
        self._database, self._gateway, self._find = database, gateway, find
        self._accounts = Accounts(open_account)
        self._settling: set[asyncio.Task[None]] = set()
        self._under_way: set[asyncio.Task[None] | asyncio.Task[ModelResponse]] = set()

    async def health(self, request: Request) -> Response:  # noqa: ARG002 - Starlette's signature
        """That the server is up; needs no key and tells nothing else."""
        return JSONResponse({"status": "ok"})

    async def models(self, request: Request) -> Response:
        """The models a key may use."""
        key = await self._key(request)
        names = await asyncio.to_thread(lambda: [name for name in key.models if self._offered(name)])
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "everloop"} for name in names]
        return JSONResponse({"object": "list", "data": data})

    async def chat(self, request: Request) -> Response:
        """Answer a conversation, whole or as a stream."""
        key = await self._key(request)
        try:
            asked = ChatRequest.model_validate_json(await doors.body(request))
        except ValidationError as error:
            raise malformed(error) from None  # its text holds what was sent
        put = question(asked)
        model = await asyncio.to_thread(self._model, key, asked.model)
        completion = Completion(asked.model)
        if asked.stream:
            options = asked.stream_options
            stream = Stream(completion, with_usage=bool(options and options.include_usage))
            self._keep(asyncio.create_task(stream.fill(model, put)), key)
            first = await stream.first()
            headers = {"cache-control": "no-store"}
            return StreamingResponse(stream.events(first), media_type="text/event-stream", headers=headers)
        answer = asyncio.create_task(model.request(put.messages, put.settings, put.parameters))
        self._keep(answer, key)
        return JSONResponse(completion.document(await asyncio.shield(answer)))

    def _keep(self, task: asyncio.Task[None] | asyncio.Task[ModelResponse], key: GatewayKeyRow) -> None:
        """A model is asked in a task of its own: the server gives its tasks up when it ends, and these must settle."""
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(lambda _: self._accounts.give_back(key.account))

    def _model(self, key: GatewayKeyRow, name: str) -> Model:
        """The model, its account taken. It reads the database, so it runs in a thread: an outage stalls no stream."""
        self._allow(key, name)
        account = self._accounts.take(key.account)
        try:
            payer = Unjournalled(account, lambda call: self._forget(key, call), self._settling)
            return self._gateway.model(name, payer, f"gateway/{key.prefix}/{uuid.uuid4().hex}", Purpose.STUDENT)
        except BaseException:
            self._accounts.give_back(key.account)
            raise

    def _allow(self, key: GatewayKeyRow, name: str) -> None:
        # The key's own list first: what else there is, is none of its business.
        if name not in key.models:
            raise _forbidden()
        try:
            entry = self._find(name)
        except ModelNotConfigured:
            told = "this model is no longer configured"
            raise Refusal(404, "invalid_request_error", "model_not_found", told) from None
        if Use.CANDIDATE not in entry.uses:
            raise _forbidden()

    def _forget(self, key: GatewayKeyRow, call: Call) -> None:
        def once() -> None:
            with self._database.write() as tx:
                calls.forget_answers(tx, key.account, call.identity)

        self._database.retrying(once)

    def _offered(self, name: str) -> bool:
        try:
            return Use.CANDIDATE in self._find(name).uses
        except ModelNotConfigured:
            return False

    async def _key(self, request: Request) -> GatewayKeyRow:
        """The key of a request. Refusal without one that holds."""
        scheme, _, presented = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not presented:
            raise _unauthorized("no API key was given")
        return await asyncio.to_thread(self._checked, presented.strip())

    def _checked(self, presented: str) -> GatewayKeyRow:
        row = self._database.retrying(lambda: self._row(tokens.prefix_of(presented, tokens.GATEWAY)))
        held = tokens.matches(presented, row.hash if row else None)
        if row is None or not held:
            raise _unauthorized("this API key is not known")
        now = utcnow()
        if row.revoked_at is not None:
            raise _unauthorized("this API key was revoked")
        if row.expires_at is not None and row.expires_at <= str(iso(now)):
            raise _unauthorized("this API key has expired")
        if row.used_at is None or row.used_at <= str(iso(now - USED_EVERY)):
            self._database.retrying(lambda: self._used(row.prefix))
        return row

    def _row(self, prefix: str) -> GatewayKeyRow | None:
        with self._database.read() as tx:
            return gateway_keys.get(tx, prefix)

    def _used(self, prefix: str) -> None:
        with self._database.write() as tx:
            gateway_keys.used(tx, prefix)

    async def close(self) -> None:
        """End what is under way; each request is settled first."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await asyncio.gather(*self._settling, return_exceptions=True)
        await self._gateway.aclose()
        self._accounts.close()


def app(endpoint: Endpoint, *, port: bool) -> Starlette:
    """The application. `port`: it is reached over TCP, so the ``Host`` header is checked too."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await endpoint.close()

    routes = [
        Route("/healthz", _answering(endpoint.health)),
        Route("/v1/models", _answering(endpoint.models)),
        Route("/v1/chat/completions", _answering(endpoint.chat), methods=["POST"]),
    ]
    made = Starlette(
        routes=routes,
        middleware=[Middleware(doors.Doors, port=port)],
        exception_handlers={HTTPException: _lost},
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False  # a redirect is no error, but clients do not follow it with a POST
    return made


def _answering(handler: Handler) -> Handler:
    """A route that never lets an error out: the server would log its text."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception as error:  # noqa: BLE001 - the edge: each error becomes a refusal
            return refusal(error).response()

    return answer


async def _lost(request: Request, error: Exception) -> Response:
    """No such route, or none of this method."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    code = "method_not_allowed" if status == 405 else "not_found"
    return Refusal(status, "invalid_request_error", code, f"{request.method} is not offered here").response()


def _forbidden() -> Refusal:
    return Refusal(403, "invalid_request_error", "model_not_allowed", "this key may not use this model")


def _unauthorized(message: str) -> Refusal:
    return Refusal(401, "invalid_request_error", "invalid_api_key", message)
