"""A reverse proxy that serves a site below a path of its own, as people put one before a console."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx2

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "date", "server"}


class Proxy:
    """``http://127.0.0.1:PORT/team/loops``; what lies outside of that path is not there, and is remembered."""

    path = "/team/loops"

    def __init__(self) -> None:
        self.behind = ""
        """Address of the site; set once it runs."""
        self.outside: list[str] = []
        """What was asked for outside of the path."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy.answer(self)

            def do_POST(self) -> None:
                proxy.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's own name
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{self.path}"
        self._client = httpx2.Client(trust_env=False, timeout=30)

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        body = asked.rfile.read(int(asked.headers.get("content-length", 0)))
        if not asked.path.startswith(self.path + "/"):
            self.outside.append(asked.path)
            asked.send_error(404)
            return
        told = self._client.request(
            asked.command, self.behind + asked.path.removeprefix(self.path), content=body, headers=dict(asked.headers)
        )
        asked.send_response(told.status_code)
        for name, value in told.headers.multi_items():
            if name.lower() not in HOP:
                asked.send_header(name, value)
        asked.send_header("Content-Length", str(len(told.content)))
        asked.end_headers()
        if told.status_code != 304:
            asked.wfile.write(told.content)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._client.close()
