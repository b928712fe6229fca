"""Complaints about other consoles that were noted beside those of `test_console_peers`; they do not happen either."""

from __future__ import annotations

from collections.abc import Callable

import stored
from browsing import Visitor
from happening import ADMINS, HERE, PAGES, RUNS
from visiting import Reader, Site

from everloop.service.permissions import Role


def test_mlflow_9779_the_status_stands_before_every_picture(reader: Reader, site: Site) -> None:
    run = stored.finished(site.place, "status-first")
    reader.enter()
    page = reader.get(f"{RUNS}/{run}").text
    assert 0 < page.index('id="state"') < page.index('id="progress"') < page.index("<svg")


def test_qdrant_2531_nothing_comes_from_another_site(visitor: Visitor, site: Site) -> None:
    run = stored.finished(site.place, "offline")
    visitor.enter(("local", Role.ADMIN))
    for name in [*PAGES, *ADMINS, f"rsi/model-loops/{run}"]:
        visitor.go(f"{HERE}/{name}")
    assert all(one.startswith("GET /") for one in visitor.requests), visitor.requests


def test_kubestellar_13512_without_a_worker_it_does_not_say_that_all_is_well(
    another_site: Callable[..., Site],
) -> None:
    site = another_site()
    stored.running(site.place, "unknown")
    reader = Reader(site)
    reader.enter()
    for name in ("overview", "rsi/model-loops"):
        reader.get(f"{HERE}/{name}")
        assert "Not connected." in reader.text
    reader.client.close()
