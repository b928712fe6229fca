"""Traces: a span a request at the collector that is configured, and nothing that could be a secret."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from calling import Api
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from everloop.api import tracing
from everloop.errors import Unavailable
from everloop.settings import Settings


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    received: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        self.received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[str]:
    Collector.received.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_request_is_a_span(collector: str, tmp_path: Path) -> None:
    with Api(tmp_path, otlp_endpoint=collector) as api:
        key = api.key()
        api.get("/v1/agent-runs/rsi/runs/r-9?compact=true", key=key)
        api.get("/sign-in/link?token=ell_secret")
    assert {path for path, _ in Collector.received} == {"/v1/traces"}
    body = b"".join(raw for _, raw in Collector.received)
    spans = [
        span.name
        for _, raw in Collector.received
        for resource in ExportTraceServiceRequest.FromString(raw).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert spans == ["GET /v1/agent-runs/rsi/runs/{run}"]
    assert key.encode() not in body
    assert b"ell_secret" not in body


def test_nothing_is_sent_where_nothing_is_configured(collector: str, tmp_path: Path) -> None:
    with Api(tmp_path) as api:
        api.get("/healthz")
    assert Collector.received == []


def test_a_missing_extra_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "find_spec", lambda _: None)
    wanted = Settings(otlp_endpoint="http://127.0.0.1:1")
    with pytest.raises(Unavailable, match="pip install"), tracing.telemetry(wanted):
        pass
