"""What cookies are called, by how the server is reached."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from starlette.requests import Request

from everloop.api.cookie_names import cookie_name, is_secure


@pytest.mark.parametrize(
    ("scheme", "host", "public_url", "name"),
    [
        ("http", "127.0.0.1:8711", "", "a_8711"),
        ("http", "127.0.0.1:8712", "", "a_8712"),
        ("http", "[::1]:8711", "", "a_8711"),
        ("http", "[::1]", "", "a"),
        ("http", "loops.example", "", "a"),
        ("https", "loops.example", "", "__Host-a"),
        ("https", "loops.example:8443", "", "__Host-a_8443"),
        ("http", "loops.example", "https://loops.example/team", "__Host-a"),
        ("http", "127.0.0.1:8711", "https://loops.example", "a_8711"),
        ("http", "loops.example:x", "", "a"),
        ("http", "", "", "a"),
    ],
)
def test_the_name_says_the_port_and_whether_it_is_https(scheme: str, host: str, public_url: str, name: str) -> None:
    app = SimpleNamespace(
        state=SimpleNamespace(installation=SimpleNamespace(settings=SimpleNamespace(public_url=public_url)))
    )
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "server": ("127.0.0.1", 8711)}
    request = Request({**scope, "scheme": scheme, "headers": [(b"host", host.encode())], "app": app})
    assert cookie_name(request, "a") == name
    assert is_secure(request) == name.startswith("__Host-")
