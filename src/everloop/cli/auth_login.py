"""Signing in with a browser: the key is made here, the server learns its hash, a person lets it in."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import click

from everloop.cli import auth_config, sentences
from everloop.cli.remote import Ended
from everloop.client import Client, Connection, InvalidAnswer, RemoteError, address, resolve
from everloop.events import Json

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Letters of a code: none that looks like another."""
CODE = 8
"""Letters of a code."""
INTERVAL, EXPIRES = (0.0, 10.0), (1, 600)
"""What a server may ask for: seconds between two polls, seconds until it gives up."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The secrets of one sign-in; none of them is sent before it is approved, only hashes."""

    key: str
    """The key that will be saved."""
    poll_token: str
    """What shows the server that the same command line asks again."""
    code: str
    """What the person types into the page."""

    def __repr__(self) -> str:
        return "Attempt()"

    @property
    def hashes(self) -> dict[str, str]:
        """What the server is sent."""
        named = {"key_hash": self.key, "poll_hash": self.poll_token, "code_hash": self.code}
        return {name: hashlib.sha256(value.encode()).hexdigest() for name, value in named.items()}


def fresh() -> Attempt:
    """A new attempt; the key has 256 random bits, the code 40."""
    code = "".join(secrets.choice(_LETTERS) for _ in range(CODE))
    return Attempt("epk_" + secrets.token_hex(32), secrets.token_urlsafe(32), code)


def login(base_url: str | None, browser: bool | None, timeout: float) -> None:
    """Sign in, and save the key when it is let in. Given up, it is taken back at the server."""
    url = address.base_url(base_url) if base_url else resolve().base_url
    attempt = fresh()
    # no key: one that is in force for another project would be refused here
    with Client.of(Connection(url), timeout=5.0) as client:
        started = client.login_start(**attempt.hashes)
        grant, page = _page(started, url)
        body = {"grant_id": grant, "poll_token": attempt.poll_token}
        done = False
        try:
            _tell(url, page, attempt.code, sys.stdout.isatty() if browser is None else browser)
            allowed = min(timeout, _bounded(started, "expires_in", EXPIRES))
            scope = _wait(lambda: client.login_poll(**body), allowed, _bounded(started, "interval", INTERVAL))
            auth_config.save_key(url, attempt.key, scope)
            done = True
        finally:
            if not done:
                _take_back(client, body)
    click.echo("Signed in. The key is saved; it works for 30 days.")


def _page(started: Json, url: str) -> tuple[str, str]:
    """Grant and page. InvalidAnswer for a page of another server: a person would type the code into it."""
    grant, page = started.get("grant_id"), started.get("verification_uri")
    if not isinstance(grant, str) or not isinstance(page, str) or not page.isprintable():
        raise InvalidAnswer("the answer names no page")
    parts = urlsplit(page)
    same = address.origin(page) == address.origin(url) and parts.path.endswith("/sign-in") and not parts.fragment
    if not same or parse_qs(parts.query) != {"cli_login": [grant]}:
        raise InvalidAnswer("the page belongs to another server")
    return grant, page


def _bounded(started: Json, name: str, bounds: tuple[float, float]) -> float:
    found = started.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not bounds[0] <= found <= bounds[1]:
        raise InvalidAnswer(f"{name} is out of bounds")
    return float(found)


def _tell(url: str, page: str, code: str, browser: bool) -> None:
    click.echo(f"Server: {url}\nOpen: {page}\nCode: {code}")
    if browser and not _opened(page):
        click.echo("No browser could be opened; open the address yourself.", err=True)


def _opened(page: str) -> bool:
    """Whether a browser shows the page; one that would take over this terminal is not begun."""
    import webbrowser

    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(page, new=1)
    except webbrowser.Error:
        return False


def _wait(poll: Callable[[], Json], seconds: float, interval: float) -> Json:
    """The scope that was let in."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = _polled(poll)
        if found.get("status") == "approved":
            return found
        if found.get("status") in {"denied", "cancelled"}:
            raise Ended("AUTH_LOGIN_DENIED: This command line was not let in.\nRun `el auth login` again.")
        if found.get("status") != "pending":
            raise InvalidAnswer("the state of the sign-in is not known")
        time.sleep(min(max(interval, 0.1), max(0.0, until - time.monotonic())))
    raise Ended(sentences.told("AUTH_LOGIN_EXPIRED", None))


def _polled(poll: Callable[[], Json]) -> Json:
    """One answer; a server that is away for a moment has not decided."""
    try:
        return poll()
    except RemoteError as error:
        if not error.passing:
            raise
        return {"status": "pending"}


def _take_back(client: Client, body: dict[str, str]) -> None:
    try:
        client.login_cancel(**body)
    except RemoteError:
        click.echo("The server could not be told; the sign-in expires by itself.", err=True)
