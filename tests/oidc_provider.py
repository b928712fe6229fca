"""A small OpenID Connect provider on loopback: real keys, PKCE, codes that work once, and faults to order."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "everloop", "a secret: of % the client"
PERSON: dict[str, Any] = {
    "sub": "248289761001",
    "name": "Jane Doe",
    "email": "Jane@Example.org",
    "email_verified": True,
    "groups": ["developers"],
}

Key = RSAKey | ECKey | OctKey


@functools.cache  # they take a while to make
def signing_key(kid: str = "one") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


class OidcProvider:
    """Serves while it is entered; everybody is signed in as `person` at once."""

    def __init__(self) -> None:
        self.person = dict(PERSON)
        self.keys: list[Key] = [signing_key()]
        self.signing: Key = self.keys[0]
        self.algorithm = "RS256"
        self.change: Callable[[dict[str, Any]], None] = lambda claims: None
        """Fault: changes the claims of the next id tokens."""
        self.describe: dict[str, Any] = {}
        """Fault: members of the description."""
        self.token_answer: Callable[[dict[str, Any]], Response] = JSONResponse
        """Fault: how the token endpoint answers."""
        self.refuse = ""
        """Fault: error that the authorization endpoint answers with."""
        self.down = False
        self.requests: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        routes = [
            Route("/.well-known/openid-configuration", self._description),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/jwks", self._jwks),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="critical", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self.issuer = ""

    def __enter__(self) -> OidcProvider:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.issuer = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of `Settings` that name this provider."""
        return {
            "oidc_issuer": self.issuer,
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SECRET,
            "oidc_admin": "owners, admins",
            "oidc_developer": "developers",
            "oidc_viewer": "guests",
        }

    def asked(self, path: str) -> int:
        return self.requests.count(path)

    async def _description(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        if self.down:
            return Response("secret inner workings", 503)
        described = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }
        return JSONResponse(described | self.describe)

    async def _authorize(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        asked = dict(request.query_params)
        good = asked["client_id"] == CLIENT and asked["response_type"] == "code" and "openid" in asked["scope"].split()
        if not good or asked["code_challenge_method"] != "S256":
            return Response("bad request", 400)
        told = {"state": asked["state"]}
        if self.refuse:
            told |= {"error": self.refuse, "error_description": "<b>not for you</b>"}
        else:
            told["code"] = secrets.token_urlsafe(16)
            self._codes[told["code"]] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(told)}", 302)

    async def _token(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        if not self._known(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None or not _proven(form, asked):
            return JSONResponse({"error": "invalid_grant", "error_description": "inner workings"}, 400)
        now = int(time.time())
        claims: dict[str, Any] = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300}
        claims |= {"nonce": asked["nonce"], **self.person}
        self.change(claims)
        header = {"alg": self.algorithm, "kid": self.signing.kid}
        token = jwt.encode(header, claims, self.signing, algorithms=[self.algorithm])
        return self.token_answer({"access_token": "at", "token_type": "Bearer", "expires_in": 300, "id_token": token})

    async def _jwks(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        return JSONResponse(
            {"keys": [key.as_dict(private=False) for key in self.keys] + [{"kty": "odd", "kid": "odd"}]}
        )

    def _known(self, request: Request, form: dict[str, str]) -> bool:
        """Whether the client proves itself in the way that the description names."""
        if "client_secret_basic" not in self.describe.get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        ):
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        return scheme == "Basic" and base64.b64decode(value).decode() == f"{CLIENT}:{SECRET}"


class Hanging:
    """A provider that accepts connections and never answers; use as a context manager."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0

    def __enter__(self) -> Hanging:
        threading.Thread(target=self._hold, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # it was let go before
            self.let_go()
        self._listener.close()

    def wait_for_one(self) -> None:
        """Until somebody has connected."""
        deadline = time.monotonic() + 30
        while not self.connections:
            assert time.monotonic() < deadline, "nobody connects"
            time.sleep(0.005)

    def let_go(self) -> None:
        """Cut the connections, and every one that comes after."""
        self._listener.shutdown(socket.SHUT_RDWR)
        while self._held:
            self._held.pop().close()

    def _hold(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._held.append(self._listener.accept()[0])
                self.connections += 1


def _proven(form: dict[str, str], asked: dict[str, str]) -> bool:
    """PKCE, and the same redirect address as before."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
    return challenge.decode().rstrip("=") == asked["code_challenge"] and form["redirect_uri"] == asked["redirect_uri"]
