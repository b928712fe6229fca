"""Where the API listens and how it is reached, out of the settings; what may not be served is refused here."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from typing import NoReturn
from urllib.parse import urlsplit

from everloop.errors import InvalidRequest
from everloop.settings import Settings

_ADVICE = "See docs/serving.md"


def check(settings: Settings) -> None:
    """InvalidRequest unless the settings can be served: keys in clear text stay on this machine."""
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        why = "EVERLOOP_TLS_CERTIFICATE and EVERLOOP_TLS_KEY go together"
        raise InvalidRequest("TLS is set up by half", why=why, then=_ADVICE)
    if secure(settings):
        _tls_files(settings)
    proxies(settings)
    public_path(settings)
    if not (is_loopback(settings.host) or secure(settings) or settings.trusted_proxy):
        why = "keys would cross the network in clear text"
        then = "Set EVERLOOP_TLS_CERTIFICATE and EVERLOOP_TLS_KEY, or EVERLOOP_TRUSTED_PROXY; see docs/serving.md"
        raise InvalidRequest(f"{settings.host} is not served without TLS", why=why, then=then)


def secure(settings: Settings) -> bool:
    """Whether the server itself speaks TLS."""
    return bool(settings.tls_certificate and settings.tls_key)


def is_loopback(host: str) -> bool:
    """Whether the host names this machine only; a name other than ``localhost`` is never taken for it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def proxies(settings: Settings) -> list[str]:
    """The addresses and networks whose forwarded headers are believed. InvalidRequest for what is neither."""
    found = [one.strip() for one in settings.trusted_proxy.split(",") if one.strip()]
    for one in found:
        try:
            ipaddress.ip_network(one)
        except ValueError as error:
            then = "Name addresses or networks, comma-separated, such as 10.0.0.5, 10.1.0.0/16"
            raise InvalidRequest("EVERLOOP_TRUSTED_PROXY cannot be accepted", why=str(error), then=then) from error
    return found


def public_path(settings: Settings) -> str:
    """Path of the public address, without a slash at its end; empty when it has none. InvalidRequest for no address."""
    if not settings.public_url:
        return ""
    try:
        parts = urlsplit(settings.public_url)
        port = parts.port
    except ValueError as error:
        _no_public_url(str(error))
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        _no_public_url("it is http:// or https:// and a host")
    if parts.username is not None or parts.query or parts.fragment or not settings.public_url.isascii():
        _no_public_url("it holds more than scheme, host, port and path")
    return parts.path.rstrip("/")


def of(settings: Settings, listener: socket.socket) -> Settings:
    """The same settings with the port that was really taken."""
    return settings.model_copy(update={"port": listener.getsockname()[1]})


def local_url(settings: Settings) -> str:
    """How programs of this machine reach the server."""
    if secure(settings) and settings.public_url:
        return settings.public_url.rstrip("/")  # a certificate is for a name, hardly ever for a loopback address
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if secure(settings) else 'http'}://{shown}:{settings.port}"


def public_url(settings: Settings) -> str:
    """How people reach the server, without a slash at its end."""
    return settings.public_url.rstrip("/") or local_url(settings)


def _no_public_url(why: str) -> NoReturn:
    then = "Give an address such as https://loops.example.org/everloop"
    raise InvalidRequest("EVERLOOP_PUBLIC_URL cannot be accepted", why=why, then=then)


def _tls_files(settings: Settings) -> None:
    def ask() -> NoReturn:
        raise InvalidRequest("the TLS key cannot be used", why="it has a password", then="Give a key without one")

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.tls_certificate, settings.tls_key, ask)
    except OSError as error:  # ssl.SSLError is one
        reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
        why = str(reason).replace("_", " ").lower()
        raise InvalidRequest("the TLS certificate and key cannot be used", why=why, then=_ADVICE) from error
