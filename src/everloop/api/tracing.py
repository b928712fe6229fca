"""Traces: a span for each request, sent to an OpenTelemetry collector where one is configured. Otherwise nothing."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from fastapi.telemetry import TelemetryConfig

from everloop import __version__
from everloop.api.redaction import redacted
from everloop.errors import Unavailable
from everloop.settings import Settings

OFF: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
SIGN_IN = "/sign-in"
"""Addresses that can hold a token in their parameters: like those with one in the path, they are never in a trace."""


@contextmanager
def telemetry(settings: Settings) -> Iterator[TelemetryConfig]:
    """What FastAPI is told; what is still to be sent is sent at the end of the block.

    Bodies, headers and parameters stay out of it. Unavailable when a collector is configured without the extra `otel`.
    """
    if not settings.otlp_endpoint:
        yield OFF
        return
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        why = "OpenTelemetry's SDK is not installed"
        raise Unavailable("traces cannot be sent", why=why, then="pip install 'everloop[otel]'")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = Resource.create({"service.name": "everloop", "service.version": __version__})
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    address = settings.otlp_endpoint.rstrip("/")
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{address}/v1/traces")))
    try:
        yield OFF | {"tracing": True, "tracer_provider": provider, "operation_spans": False, "exclude": _secret}
    finally:
        provider.shutdown()


def _secret(scope: MutableMapping[str, Any]) -> bool:
    path = str(scope.get("path", ""))
    return path.startswith(SIGN_IN) or redacted(path) != path
