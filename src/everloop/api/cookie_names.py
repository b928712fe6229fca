"""What the cookies of this server are called: a browser keeps those of a host together, whatever the port.

Two installations on one machine would otherwise take each other's sessions for their own and end them.
"""

from __future__ import annotations

import re

from starlette.requests import HTTPConnection

SESSION = "everloop_session"
"""Cookie of a signed-in session, before what `cookie_name` adds."""
_PORT = re.compile(r":([0-9]{1,5})$")


def cookie_name(request: HTTPConnection, base: str) -> str:
    """The name of a cookie where this request comes from.

    Over https it begins with ``__Host-``: a browser takes such a one from this very host only, never from a neighbour
    in its domain. A port that is not the usual one of http or https is at its end, as people have it in their browser.
    """
    prefix = "__Host-" if is_secure(request) else ""
    port = _PORT.search(request.headers.get("host", "").rpartition("]")[2])
    return f"{prefix}{base}_{int(port[1])}" if port else f"{prefix}{base}"


def is_secure(request: HTTPConnection) -> bool:
    """Whether people reach this server by https, also where a proxy speaks it for us."""
    public = request.app.state.installation.settings.public_url
    return request.url.scheme == "https" or (
        str(public).startswith("https://") and request.url.hostname not in {"localhost", "127.0.0.1", "::1"}
    )
