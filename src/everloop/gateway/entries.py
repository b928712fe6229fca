"""What a model's entry may say, and the entry as JSON. An entry that passed `checked` can be stored."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict
from ipaddress import IPv4Address, IPv6Address, ip_address
from math import isfinite
from urllib.parse import SplitResult, urlsplit

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue
from everloop.gateway.base import KeySource, ModelEntry, Use
from everloop.gateway.bounds import UNBOUNDED_BODY
from everloop.values import built

MAX_TOKENS = 1_000_000
"""Largest `ModelEntry.max_tokens`."""
MAX_CONCURRENCY = 1024
"""Largest `ModelEntry.concurrency`."""
MAX_PER_MINUTE = 1_000_000
"""Largest `ModelEntry.requests_per_minute`."""
BOUNDED = UNBOUNDED_BODY | {"stream", "stream_options", "input", "prompt", "service_tier", "speed"}
"""What ``extra_body`` may not set: it would change what is asked or make a call dearer than its worst case."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_KEY_FILE = re.compile(r"[0-9a-f]{32}")
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_NO_KEY = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "LANG", "TERM", "TMPDIR"})
_PROXY = re.compile(r"(HTTP|HTTPS|ALL|NO)_PROXY")
_EFFORTS = frozenset(["minimal", "low", "medium", "high", "xhigh", "max"])


def document_of(entry: ModelEntry) -> Json:
    """The entry as JSON; it holds no key."""
    return {**asdict(entry), "uses": [use.value for use in entry.uses], "key_source": entry.key_source.value}


def entry_of(document: Mapping[str, JsonValue]) -> ModelEntry:
    """The entry that was stored as `document`."""
    uses = document["uses"]
    assert isinstance(uses, list)
    source = KeySource(str(document["key_source"]))
    return built(ModelEntry, document, uses=tuple(Use(str(use)) for use in uses), key_source=source)


def checked(entry: ModelEntry, *, allow_http: bool = False) -> ModelEntry:
    """The entry if every field can be accepted, else InvalidRequest that names the field.

    `allow_http`: plain http also to hosts that are neither this machine nor in a private network.
    """
    checked_name(entry.name)
    _provider(entry.provider)
    if not entry.model.strip() or len(entry.model) > 256 or not entry.model.isprintable():
        raise _invalid("the model's id", entry.model, "1 to 256 printable characters, as its provider names it")
    if entry.base_url:
        _base_url(entry.base_url, allow_http)
    _key(entry)
    _prices(entry)
    _whole("max_tokens", entry.max_tokens, MAX_TOKENS)
    _whole("concurrency", entry.concurrency, MAX_CONCURRENCY)
    if entry.requests_per_minute is not None:
        _whole("requests_per_minute", entry.requests_per_minute, MAX_PER_MINUTE)
    if len(set(entry.uses)) != len(entry.uses):
        raise _invalid("uses", ", ".join(entry.uses), "each use once")
    _settings(entry.settings)
    return entry


def checked_name(name: str) -> str:
    """A name that a model may have, else InvalidRequest."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise _invalid("the name", name, "1 to 64 of a-z, 0-9, dot, dash, underscore; the first a letter or digit")
    return name


def _invalid(what: str, value: object, needed: str) -> InvalidRequest:
    return InvalidRequest(f"{what} {value!r} cannot be accepted", why=f"needed: {needed}", then="See docs/models.md")


def _provider(provider: str) -> None:
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(provider)
    except ValueError as error:
        known = "`openai` (any compatible endpoint), `anthropic`, or another provider of pydantic-ai"
        raise _invalid("the provider", provider, known) from error
    except ImportError as error:
        then = "Install what it needs, or use `openai` with a base URL if the endpoint is compatible"
        raise InvalidRequest(f"the provider {provider!r} cannot be used", why=str(error), then=then) from error


def _base_url(url: str, allow_http: bool) -> None:
    # A URL that may hold a password is never repeated, not even in the error that refuses it.
    what = "the base URL cannot be accepted"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidRequest(what, why=str(error), then="Example: http://127.0.0.1:8000/v1") from error
    if not url.isprintable() or any(one.isspace() for one in url):
        raise InvalidRequest(what, why="it holds white space")
    if parts.scheme not in {"http", "https"} or not host:
        raise InvalidRequest(what, why="it needs http:// or https:// and a host", then="Example: https://host/v1")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise InvalidRequest(what, why="it holds credentials", then="Give a key with --key-env or --key-stdin")
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise InvalidRequest(what, why="it has a query or a fragment", then="Give scheme, host, port and path only")
    if parts.scheme == "http" and not allow_http and not near(parts):
        why = f"plain http to {host}: keys and texts could be read on the way"
        raise InvalidRequest(what, why=why, then="Use https, or accept that with --allow-http")


def near(parts: SplitResult) -> bool:
    """Whether a URL's host is this machine or in a private network, as far as its name tells."""
    host = (parts.hostname or "").lower().rstrip(".")
    address = _address(host)
    if address is not None:
        return address.is_loopback or address.is_private
    # Escaped characters and those beyond ASCII can become dots on the way to a resolver.
    named = "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa"))
    return named and _HOST.fullmatch(host) is not None


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address a host is; a resolver also takes ``134744072``, ``0x8.8.8.8`` and ``8.8.2056`` for 8.8.8.8."""
    try:
        address = ip_address(host)
    except ValueError:
        try:
            return IPv4Address(socket.inet_aton(host))
        except (OSError, UnicodeError):
            return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def _key(entry: ModelEntry) -> None:
    if entry.key_source is KeySource.FILE and _KEY_FILE.fullmatch(entry.key_name):
        return
    if entry.key_source is not KeySource.ENVIRONMENT:
        if entry.key_name:
            raise _invalid("the variable", entry.key_name, "none: the key does not come from the environment")
        return
    name = entry.key_name
    # The value is not repeated: who mistakes the option gives the key itself.
    if not _VARIABLE.fullmatch(name):
        why = "it is no name of an environment variable (letters, digits, underscore)"
        raise InvalidRequest("--key-env cannot be accepted", why=why, then="Give the variable's name, not the key")
    upper = name.upper()
    if upper in _NO_KEY or upper.startswith("EVERLOOP_") or _PROXY.fullmatch(upper):
        raise _invalid("the variable", name, "a variable that holds nothing but the key")


def _prices(entry: ModelEntry) -> None:
    prices = (entry.input_usd_per_mtok, entry.output_usd_per_mtok)
    if (prices[0] is None) != (prices[1] is None):
        then = "Give --input-price and --output-price, or neither"
        raise InvalidRequest("the price cannot be accepted", why="only one of its two parts is given", then=then)
    for price in prices:
        if price is not None and not (isfinite(price) and 0 <= price <= 1_000_000):
            raise _invalid("the price", price, "US dollars for a million tokens, from 0")


def _whole(what: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not 1 <= value <= most:
        raise _invalid(what, value, f"a whole number from 1 to {most}")


def _settings(settings: Mapping[str, JsonValue]) -> None:
    for key, value in settings.items():
        if key not in SETTINGS:
            raise _invalid("the setting", key, f"one of {', '.join(SETTINGS)}")
        needed, fits = SETTINGS[key]
        if not fits(value):
            raise _invalid(f"the setting {key} =", value, needed)


def _between(low: float, high: float) -> Callable[[JsonValue], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _integer(low: int, high: int) -> Callable[[JsonValue], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _stops(value: JsonValue) -> bool:
    return isinstance(value, list) and 0 < len(value) <= 16 and all(isinstance(one, str) and one for one in value)


def _body(value: JsonValue) -> bool:
    return isinstance(value, dict) and not BOUNDED & value.keys()


SETTINGS: Mapping[str, tuple[str, Callable[[JsonValue], bool]]] = {
    "temperature": ("a number from 0 to 2", _between(0, 2)),
    "top_p": ("a number from 0 to 1", _between(0, 1)),
    "top_k": ("a whole number from 1", _integer(1, 1_000_000)),
    "seed": ("a whole number from 0", _integer(0, 2**63 - 1)),
    "presence_penalty": ("a number from -2 to 2", _between(-2, 2)),
    "frequency_penalty": ("a number from -2 to 2", _between(-2, 2)),
    "stop_sequences": ("a list of 1 to 16 texts", _stops),
    "parallel_tool_calls": ("true or false", lambda value: isinstance(value, bool)),
    "thinking": (
        f"true, false or one of {', '.join(sorted(_EFFORTS))}",
        lambda value: isinstance(value, bool) or (isinstance(value, str) and value in _EFFORTS),
    ),
    "extra_body": (f"an object without {', '.join(sorted(BOUNDED))}", _body),
}
"""Settings an entry may have: what a value must be, in words and as a test."""
