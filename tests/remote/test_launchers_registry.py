from __future__ import annotations

import pytest

from everloop.errors import InvalidRequest
from everloop.remote.launchers.local import LocalLauncher
from everloop.remote.launchers.registry import launcher


def test_finds_the_built_in_launcher() -> None:
    assert isinstance(launcher("local"), LocalLauncher)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match=r"unknown launcher 'moon': known: .*local"):
        launcher("moon")
