"""The names under which the MCP endpoint may be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from everloop.api.mcp_names import names
from everloop.api.mcp_server import PATH, mcp_app
from everloop.errors import Unauthorized
from everloop.service.caller import Caller
from everloop.service.installation import Installation, open_installation
from everloop.settings import Settings

SETTINGS: dict[str, dict[str, Any]] = {
    "loopback": {},
    "public": {"public_url": "https://loops.example.org:8443/el"},
    "network": {"host": "0.0.0.0", "public_url": "https://loops.example.org"},
    "nameless": {"host": "0.0.0.0"},
    "six": {"host": "::1"},
    "second": {"host": "127.0.0.2"},
    "mapped": {"host": "::ffff:127.0.0.1"},
}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    opened = open_installation(Settings(home=tmp_path_factory.mktemp("home")))
    yield opened
    opened.close()


def status(installation: Installation, settings: Settings, host: str, origin: str | None) -> int:
    """How the endpoint answers a request under these names: 401 means that they were no obstacle."""

    def nobody(key: str) -> Caller:
        raise Unauthorized("nobody")

    async def ask() -> int:
        hosts, origins = names(settings)
        endpoint = mcp_app(installation, nobody, hosts=hosts, origins=origins)
        transport = httpx2.ASGITransport(app=endpoint.app)
        headers = {"Host": host, "Content-Type": "application/json"} | ({"Origin": origin} if origin else {})
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as http:
            return (await http.post(PATH, content=b"{}", headers=headers)).status_code

    return anyio.run(ask)


@pytest.mark.parametrize(
    ("kind", "host", "origin", "expected"),
    [
        ("loopback", "127.0.0.1:8711", None, 401),
        ("loopback", "localhost:1", "http://localhost:1", 401),
        ("loopback", "127.0.0.1", "https://127.0.0.1", 401),
        ("loopback", "[::1]:8711", "http://[::1]:8711", 401),
        ("loopback", "loops.example.org", None, 421),
        ("loopback", "127.0.0.1.evil.example:80", None, 421),
        ("loopback", "localhost.evil.example", None, 421),
        ("loopback", "127.0.0.1:8711", "http://evil.example", 403),
        ("loopback", "127.0.0.1:8711", "http://localhost.evil.example", 403),
        ("loopback", "127.0.0.1:8711", "null", 403),
        ("loopback", "127.0.0.1:8711", "file://localhost", 403),
        ("public", "loops.example.org:8443", "https://loops.example.org:8443", 401),
        ("public", "127.0.0.1:8711", None, 401),
        ("public", "example.org", None, 421),
        ("network", "loops.example.org", "https://loops.example.org", 401),
        ("network", "evil.example", None, 421),
        ("nameless", "box.lan:8711", "http://box.lan:8711", 401),
        ("six", "[::1]:8711", None, 401),
        ("second", "127.0.0.2:8711", None, 401),
        ("second", "evil.example", None, 421),
        ("mapped", "[::ffff:127.0.0.1]:8711", None, 401),
        ("mapped", "evil.example", None, 421),
    ],
)
def test_a_name_is_answered_to_when_the_settings_know_it(
    installation: Installation, tmp_path: Path, kind: str, host: str, origin: str | None, expected: int
) -> None:
    assert status(installation, Settings(home=tmp_path, **SETTINGS[kind]), host, origin) == expected
