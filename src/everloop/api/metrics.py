"""Figures for Prometheus: requests of this process, and what the store holds when it is asked."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from everloop import __version__
from everloop.service import figures
from everloop.service.installation import Installation

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of the histogram of durations."""


class Metrics:
    """The registry of one server process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("everloop_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "everloop_request_seconds", "Time to an answer.", ("route",), buckets=SECONDS, registry=registry
        )
        self._runs = Gauge("everloop_runs", "Runs by state.", ("state",), registry=registry)
        self._jobs = Gauge("everloop_train_jobs", "Train jobs by state.", ("state",), registry=registry)
        self._workers = Gauge("everloop_workers", "Workers that are alive.", registry=registry)
        Gauge("everloop_info", "Release.", ("version",), registry=registry).labels(__version__).set(1)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the pattern, never the address, so that the number of series is bounded."""
        known = method if method in {"GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS"} else "other"
        self._requests.labels(known, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def exposition(self, place: Installation) -> bytes:
        """Everything in Prometheus' text format."""
        found = figures.of(place)
        for gauge, counts in ((self._runs, found.runs), (self._jobs, found.jobs)):
            gauge.clear()
            for state, count in counts.items():
                gauge.labels(state).set(count)
        self._workers.set(found.workers)
        return generate_latest(self._registry)
