"""A server with the console for all tests of this folder; people and browsers of a test's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oidc_provider import OidcProvider
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
