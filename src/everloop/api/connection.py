"""One HTTP connection within bounds: how long a head may be, how long a request may take to arrive."""

from __future__ import annotations

from asyncio import BaseTransport, TimerHandle

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
"""Longest request line with its headers."""
HEADERS = 100
"""Most headers of a request."""
HEAD_SECONDS = 20.0
"""Seconds in which a request's head must have arrived."""
BODY_SECONDS = 300.0
"""Seconds in which its body must have arrived after that."""


class Connection(HttpToolsProtocol):
    """uvicorn's connection; a request too long or too slow ends it.

    Without these bounds a stranger without a key could fill the memory, or hold every connection, with requests that
    never come to an end.
    """

    _timer: TimerHandle | None = None
    _in_head = False
    _head = 0

    def connection_made(self, transport: BaseTransport) -> None:
        """A request is awaited from now on."""
        super().connection_made(transport)  # type: ignore[arg-type]  # uvicorn narrows the base's type
        self._expect(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is awaited."""
        self._expect(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; the first of them set its time limit."""
        if self._timer is None:
            self._expect(HEAD_SECONDS)
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The request's head is too long.")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._expect(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        """The head is there. ValueError, which the parser turns into status 400, for one that is too long."""
        self._in_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES or len(self.headers) > HEADERS:
            raise ValueError("the head is too long")
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there."""
        self._expect(None)
        super().on_message_complete()

    def _expect(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self._timer = None
        self.transport.abort()
