"""The third-party plug-ins of these tests are on the path, as an installed package would be."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import forked
import harness
import pytest

PLUGINS = str(Path(__file__).parents[1] / "plugins")
if PLUGINS not in sys.path:
    sys.path.append(PLUGINS)


@pytest.fixture(autouse=True, scope="session")
def plugins() -> Iterator[None]:
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = PLUGINS if not before else f"{PLUGINS}{os.pathsep}{before}"
    yield
    forked.close()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while harness.OPEN:
        harness.OPEN.pop().close()
