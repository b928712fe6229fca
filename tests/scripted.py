"""A scripted model server in OpenAI's and Anthropic's wire shapes: the paid edge of the tests, faults included.

A script is a function from a request to a `Reply`; it runs in the server's own thread. Everything the server saw is in
`requests`, and `tokens` counts what it would bill.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request as the server saw it."""

    path: str
    headers: Mapping[str, str]
    body: Document
    number: int
    """1 for the first request of this server."""

    @property
    def text(self) -> str:
        """All of the conversation, as JSON text."""
        return json.dumps(self.body.get("messages", []), ensure_ascii=False)

    @property
    def last(self) -> str:
        """The newest message's content, as text."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """What the server does with a request."""

    text: str = "ok"
    """Text of the answer."""
    tools: Sequence[tuple[str, Document]] = ()
    """Tool calls of the answer: (name, arguments)."""
    fault: str = ""
    """``reset``, ``hang``, ``cut`` (stream or body cut off), ``malformed``, ``drip`` (a byte at a time, slower than any
    deadline), or an HTTP status such as ``429``."""
    retry_after: str | None = None
    """Header of a fault that is a status."""
    delay: float = 0.0
    """Seconds before the answer."""
    input_tokens: int = 100
    """Billed."""
    output_tokens: int = 50
    """Billed."""
    before: Callable[[], None] | None = None
    """Called before the answer is written, e.g. to kill the caller."""
    finish: str = ""
    """Finish reason other than the usual one."""


Script = Callable[[Request], Reply]


@dataclass
class Tokens:
    """What has been billed: answered requests only."""

    input: int = 0
    output: int = 0
    answered: int = 0


@dataclass
class ScriptedServer:
    """The server; use it as a context manager. `url` ends in ``/v1``."""

    script: Script = field(default=lambda _: Reply())
    host: str = "127.0.0.1"
    requests: list[Request] = field(default_factory=list)
    tokens: Tokens = field(default_factory=Tokens)
    most_at_once: int = 0
    port: int = 0

    def __enter__(self) -> ScriptedServer:
        self._loop = asyncio.new_event_loop()
        self._at_once = 0
        ready = threading.Event()

        async def open_port() -> None:
            self._server = await asyncio.start_server(self._serve, self.host, self.port, backlog=1024)
            self.port = self._server.sockets[0].getsockname()[1]
            ready.set()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._opening = self._loop.create_task(open_port())
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.close()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await self._read(reader)) is not None:
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                try:
                    if not await self._answer(request, writer):
                        break
                finally:
                    self._at_once -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the caller left, or the server is closing
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin1").strip().split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Request(first.split(" ")[1], headers, json.loads(body) if body else {}, len(self.requests) + 1)
        self.requests.append(request)
        return request

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer; False when the connection is to be closed."""
        if request.path.endswith("/models"):
            return await _json(writer, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        reply = self.script(request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.before:
            reply.before()
        if reply.fault == "hang":
            await asyncio.sleep(3600)
        if reply.fault == "reset":
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        if reply.fault.isdigit():
            more = {"retry-after": reply.retry_after} if reply.retry_after is not None else {}
            error = {"message": f"scripted {reply.fault}", "type": "scripted"}
            return await _json(writer, int(reply.fault), {"type": "error", "error": error}, more)
        if reply.fault == "malformed":
            return await _raw(writer, 200, b'{"id": "x", "choices": [{', "application/json")
        if not reply.fault:
            self.tokens.input += reply.input_tokens
            self.tokens.output += reply.output_tokens
            self.tokens.answered += 1
        anthropic = request.path.endswith("/messages")
        if request.body.get("stream"):
            parts = _anthropic_stream(reply) if anthropic else _openai_stream(reply)
            return await _stream(writer, parts, reply.fault)
        document = _anthropic(reply) if anthropic else _openai(reply)
        data = json.dumps(document).encode()
        if reply.fault == "cut":
            writer.write(_head(200, "application/json", len(data)) + data[: len(data) // 2])
            await writer.drain()
            return False
        if reply.fault == "drip":
            writer.write(_head(200, "application/json", len(data)))
            return await _drip(writer, data)
        return await _raw(writer, 200, data, "application/json")


def _head(status: int, kind: str, length: int | None, more: Mapping[str, str] | None = None) -> bytes:
    size = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", size, *(f"{k}: {v}" for k, v in (more or {}).items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _raw(
    writer: asyncio.StreamWriter, status: int, data: bytes, kind: str, more: Mapping[str, str] | None = None
) -> bool:
    writer.write(_head(status, kind, len(data), more) + data)
    await writer.drain()
    return True


async def _json(
    writer: asyncio.StreamWriter, status: int, document: Document, more: Mapping[str, str] | None = None
) -> bool:
    return await _raw(writer, status, json.dumps(document).encode(), "application/json", more)


async def _drip(writer: asyncio.StreamWriter, data: bytes) -> bool:
    for byte in data:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.2)
    return True


async def _stream(writer: asyncio.StreamWriter, parts: Sequence[bytes], fault: str) -> bool:
    def chunk(data: bytes) -> bytes:
        return f"{len(data):x}\r\n".encode() + data + b"\r\n"

    writer.write(_head(200, "text/event-stream", None))
    for part in parts[: 2 if fault == "cut" else None]:
        writer.write(chunk(part))
        await writer.drain()
        if fault == "drip":
            await asyncio.sleep(0.4)
    if fault == "cut":
        return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _openai(reply: Reply) -> Document:
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(reply.tools)
    ]
    message: Document = {"role": "assistant", "content": None if calls else reply.text}
    if calls:
        message["tool_calls"] = calls
    finish = reply.finish or ("tool_calls" if calls else "stop")
    return {
        "id": "scripted-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
        },
    }


def _openai_stream(reply: Reply) -> list[bytes]:
    def event(choices: list[Document], usage: Document | None = None) -> bytes:
        document = {"id": "scripted-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        return b"data: " + json.dumps(document | {"choices": choices, "usage": usage}).encode() + b"\n\n"

    def delta(content: Document, finish: str | None = None) -> bytes:
        return event([{"index": 0, "delta": content, "finish_reason": finish}])

    calls = [
        {
            "index": place,
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for place, (name, arguments) in enumerate(reply.tools)
    ]
    half = len(reply.text) // 2
    said = [delta({"tool_calls": calls})] if calls else [delta({"content": reply.text[:half]})]
    said += [] if calls else [delta({"content": reply.text[half:]})]
    usage = _openai(reply)["usage"]
    finish = reply.finish or ("tool_calls" if calls else "stop")
    return [*said, delta({}, finish), event([], usage), b"data: [DONE]\n\n"]


def _anthropic(reply: Reply) -> Document:
    content: list[Document] = [{"type": "text", "text": reply.text}] if not reply.tools else []
    for place, (name, arguments) in enumerate(reply.tools):
        content.append({"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": arguments})
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": reply.finish or ("tool_use" if reply.tools else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens},
    }


def _anthropic_stream(reply: Reply) -> list[bytes]:
    def event(kind: str, document: Document) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind} | document)}\n\n".encode()

    message = _anthropic(reply) | {"content": [], "stop_reason": None}
    message["usage"] = {"input_tokens": reply.input_tokens, "output_tokens": 1}
    half = len(reply.text) // 2
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [
        {"index": 0, "delta": {"type": "text_delta", "text": part}} for part in (reply.text[:half], reply.text[half:])
    ]
    stop = {"stop_reason": reply.finish or "end_turn", "stop_sequence": None}
    return [
        event("message_start", {"message": message}),
        event("content_block_start", block),
        *(event("content_block_delta", one) for one in deltas),
        event("content_block_stop", {"index": 0}),
        event("message_delta", {"delta": stop, "usage": {"output_tokens": reply.output_tokens}}),
        event("message_stop", {}),
    ]
