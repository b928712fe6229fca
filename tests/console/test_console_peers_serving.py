"""Complaints about how other consoles are installed and served, each with its issue; none of them happens here."""

from __future__ import annotations

import re
import statistics
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import stored
from browsing import Visitor
from happening import ADMINS, HERE, PAGES, RUNS, Watched, happen
from proxied import Proxy
from visiting import Reader, Site

from everloop.console import pages
from everloop.service import sessions
from everloop.service.permissions import Role

Watch = Callable[[str], Watched]


def test_mlflow_3631_an_installation_from_source_has_the_pages() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    needed = {re.split("[<>=]", one)[0] for one in project["build-system"]["requires"]}
    assert needed <= {"babel", "hatchling"}  # nothing that asks for Node
    shipped = {one.name for one in pages.STATIC.iterdir()}
    assert {"console.css", "console.js", "icon.svg"} <= shipped
    templates = {one.name for one in (pages.STATIC.parent / "templates").iterdir()}
    assert {"base.html", "run.html", "loops.html"} <= templates
    assert "src/everloop" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_mlflow_597_19031_it_works_below_the_path_of_a_proxy(
    visit: Callable[..., Visitor], another_site: Callable[..., Site]
) -> None:
    with Proxy() as proxy:
        site = another_site(public_url=proxy.url)
        proxy.behind = site.url
        run = stored.running(site.place, "proxied")
        visitor = visit(site, base_url=f"{proxy.url}/")
        _, user_id = site.person(("local", Role.ADMIN), password=None)
        visitor.go(f"{proxy.url}/sign-in/link?token={sessions.make_link(site.place, user_id)}")
        visitor.press("Sign in")
        for name in [*PAGES, *ADMINS]:
            visitor.go(f"{proxy.url}{HERE}/{name}")
            assert visitor.page.url == f"{proxy.url}{HERE}/{name}"
        page = Watched(visitor, f"{proxy.url}{RUNS}")
        visitor.page.clock.resume()
        visitor.press("proxied")
        visitor.until("document.documentElement.dataset.script")
        happen(site.place, run, "it arrives behind the proxy", round=6)
        page.polls()
        page.shows("it arrives behind the proxy")
        assert proxy.outside == []
        assert {status for _, status in visitor.statuses} <= {200, 303, 304}


def test_aim_2753_a_list_of_a_thousand_runs_is_as_quick_as_one_of_thirty(another_site: Callable[..., Site]) -> None:
    readers = []
    for n in (30, 1000):
        site = another_site()
        stored.many(site.place, n)
        readers.append(Reader(site))
        readers[-1].enter()
    times: list[list[float]] = [[], []]
    for _ in range(9):  # by turns, so that a busy machine slows both alike
        for reader, taken in zip(readers, times, strict=True):
            begun = time.perf_counter()
            reader.get(RUNS)
            taken.append(time.perf_counter() - begun)
            assert reader.page.text.count('<tr id="run-') == 25
    for reader in readers:
        reader.client.close()
    assert statistics.median(times[1]) < 2 * statistics.median(times[0])


def test_qdrant_2531_nothing_comes_from_another_site(visitor: Visitor, site: Site) -> None:
    run = stored.finished(site.place, "offline")
    visitor.enter(("local", Role.ADMIN))
    for name in [*PAGES, *ADMINS, f"rsi/model-loops/{run}"]:
        visitor.go(f"{HERE}/{name}")
    assert all(one.startswith("GET /") for one in visitor.requests), visitor.requests
