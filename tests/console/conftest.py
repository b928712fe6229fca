"""A server with the console for all tests of this folder; people and browsers of a test's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import browsing
import pytest
import stored
from browsing import Visitor
from happening import RUNS, Watched
from oidc_provider import OidcProvider
from playwright.sync_api import Browser
from visiting import Reader, Site


@pytest.fixture(scope="session")
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture(scope="session")
def site(provider: OidcProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site"), **provider.settings) as running:
        yield running


@pytest.fixture
def another_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes a server with settings of its own."""
    running: list[Site] = []

    def make(**settings: Any) -> Site:
        running.append(Site(tmp_path / f"site-{len(running)}", **settings).__enter__())
        return running[-1]

    yield make
    for one in running:
        one.__exit__()
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def reader(site: Site) -> Iterator[Reader]:
    made = Reader(site)
    yield made
    made.client.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of all tests; ask for `visit` or `visitor`."""
    with browsing.chromium() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser, site: Site) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors, each with a browser of their own; `at` is another site than that of all tests."""
    made: list[Visitor] = []

    def make(at: Site = site, **look: Any) -> Visitor:
        made.append(Visitor(chromium, at, **look))
        return made[-1]

    with browsing.using(chromium):
        try:
            yield make
        finally:
            problems = [problem for one in made for problem in one.leave()]
        assert problems == []


@pytest.fixture
def visitor(visit: Callable[..., Visitor]) -> Visitor:
    """Somebody with a browser at the site of all tests; `enter` signs them in."""
    return visit()


@pytest.fixture
def run(site: Site, request: pytest.FixtureRequest) -> str:
    """A run under way, named after the test."""
    name = str(request.node.originalname).removeprefix("test_").replace("_", "-")
    return stored.running(site.place, name[:64].strip("-"))


@pytest.fixture
def watch(visitor: Visitor) -> Callable[[str], Watched]:
    """Opens the page of a run as somebody who may see it; its time stands still."""

    def make(run: str) -> Watched:
        visitor.enter()
        return Watched(visitor, f"{RUNS}/{run}")

    return make
