"""An OpenID Connect provider: what it says of itself, and the checked claims of who comes back from it.

Only the authorization code flow, with PKCE, state and nonce. What the provider says of itself is fetched when somebody
first signs in and kept for an hour, its keys too; a key it does not know yet is asked for again at most twice a minute.
One thread asks; a failure is remembered for half a minute, so that strangers neither pile up before a provider that
hangs nor have it asked over and over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]  # carries no types
from authlib.integrations.httpx_client import OAuth2Client  # type: ignore[import-untyped]  # carries no types
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]  # carries no types
from authlib.oidc.discovery import get_well_known_url  # type: ignore[import-untyped]  # carries no types
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from everloop.errors import ProviderUnavailable, Unauthorized
from everloop.events import Json
from everloop.settings import Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures that are believed: with a public key only."""
SCOPE = "openid profile email"
"""What is asked for."""
TIMEOUT = 10.0
"""Seconds that one request to the provider may take."""
FRESH = 3600.0
"""Seconds for which its description and keys are kept."""
AGAIN = 30.0
"""Seconds between two looks for a key that is not known."""
FAILED = 30.0
"""Seconds after a failure in which the provider is not asked again for what it says of itself."""
PATIENCE = 1.0
"""Seconds that a thread waits for what another one is asking for."""
LEEWAY = 60
"""Seconds by which its clock and ours may differ."""
HOME = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that need no TLS."""

log = logging.getLogger(__name__)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Journey:
    """One person's way to the provider and back; kept by their browser, signed."""

    state: str
    """Random text that must come back in the address."""
    nonce: str
    """Random text that must come back in the id token."""
    verifier: str
    """PKCE: whose hash was sent, and which fetches the token."""
    redirect_uri: str
    """Where the provider sends them back to."""
    next: str
    """Path to go on to."""


class IdentityProvider:
    """The provider of the settings; safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self.issuer = settings.oidc_issuer
        self._id, self._secret = settings.oidc_client_id, settings.oidc_client_secret.get_secret_value()
        self._described: _Kept[Json] = _Kept()
        self._keys: _Kept[KeySet] = _Kept()

    def address(self, journey: Journey) -> str:
        """Where to send a person. ProviderUnavailable when the provider's description cannot be had."""
        with self._client(journey) as client:
            endpoint = self._endpoint("authorization_endpoint")
            url, _ = client.create_authorization_url(
                endpoint, state=journey.state, nonce=journey.nonce, code_verifier=journey.verifier
            )
        return str(url)

    def claims(self, journey: Journey, code: str) -> Json:
        """The checked claims of a person who came back with a code.

        Unauthorized when the code or the token is not good, without saying what is wrong with it; the log says.
        """
        token = self._asked(lambda: self._fetch(journey, code))
        raw = token.get("id_token")
        if not isinstance(raw, str):
            raise _refused("no id token was given")
        try:
            return self._checked(raw, journey, str(token.get("access_token") or ""))
        except (JoseError, ValueError, TypeError, KeyError) as error:
            # the class and the claim's name at most: claims and tokens are no matter for a log
            raise _refused(f"{type(error).__name__} {getattr(error, 'claim', '')}".strip()) from None

    def check_issuer(self, named: str | None) -> None:
        """RFC 9207: an answer that names its issuer names this one. Unauthorized otherwise."""
        described = self._description()
        if named is None and described.get("authorization_response_iss_parameter_supported") is not True:
            return
        if named != described["issuer"]:
            raise _refused("the answer is of another issuer")

    def _client(self, journey: Journey) -> Any:
        method = "client_secret_basic"
        known = self._description().get("token_endpoint_auth_methods_supported")
        if isinstance(known, list) and method not in known and "client_secret_post" in known:
            method = "client_secret_post"
        return OAuth2Client(
            self._id,
            self._secret,
            token_endpoint_auth_method=method,
            scope=SCOPE,
            redirect_uri=journey.redirect_uri,
            code_challenge_method="S256",
            timeout=TIMEOUT,
        )

    def _fetch(self, journey: Journey, code: str) -> Json:
        with self._client(journey) as client:
            found: Json = client.fetch_token(
                self._endpoint("token_endpoint"),
                grant_type="authorization_code",
                code=code,
                code_verifier=journey.verifier,
            )
        return found

    def _checked(self, raw: str, journey: Journey, access_token: str) -> Json:
        """Signature, issuer, audience, expiry, nonce, and the hash of the access token."""
        described = self._description()
        algorithms = [
            one for one in _names(described.get("id_token_signing_alg_values_supported")) if one in ALGORITHMS
        ]
        registry = JWSRegistry(algorithms=algorithms or ["RS256"], strict_check_header=False)
        try:
            token = jwt.decode(raw, self._key_set(), registry=registry)
        except (InvalidKeyIdError, BadSignatureError):  # it may have new keys
            token = jwt.decode(raw, self._key_set(AGAIN), registry=registry)
        options = {
            "iss": {"essential": True, "value": described["issuer"]},
            "aud": {"essential": True, "value": self._id},
            "sub": {"essential": True},
            "nonce": {"essential": True, "value": journey.nonce},
        }
        params = {"nonce": journey.nonce, "client_id": self._id, "access_token": access_token}
        claims = CodeIDToken(token.claims, token.header, options, params)
        claims.validate(leeway=LEEWAY)
        return dict(claims)

    def _description(self) -> Json:
        """What the provider says of itself; its own name for itself must be the one in the settings."""
        return self._described.get(FRESH, self._describe)

    def _describe(self) -> Json:
        found = self._json(get_well_known_url(self.issuer, external=True))
        if str(found.get("issuer")).rstrip("/") != self.issuer.rstrip("/"):
            raise _unavailable("it calls itself by another name than the setting oidc_issuer")
        return found

    def _key_set(self, fresh: float = FRESH) -> KeySet:
        address = self._endpoint("jwks_uri")
        return self._keys.get(fresh, lambda: _keys(self._json(address)))

    def _endpoint(self, name: str) -> str:
        found = self._description().get(name)
        if not isinstance(found, str):
            raise _unavailable(f"it names no {name}")
        return _safe(found)

    def _json(self, url: str) -> Json:
        def get() -> Json:
            answer = httpx2.get(_safe(url), timeout=TIMEOUT, headers={"Accept": "application/json"})
            found = answer.raise_for_status().json()
            if not isinstance(found, dict):
                raise ValueError("no JSON object")
            return found

        return self._asked(get)

    def _asked(self, ask: Callable[[], Json]) -> Json:
        """What the provider answers; its faults as errors of ours that repeat nothing it said."""
        try:
            return ask()
        except AuthlibBaseError as error:
            raise _refused(f"the provider refused the code: {error.error!r:.40}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise _unavailable(type(error).__name__) from None


class _Kept(Generic[T]):
    """Something that the provider says: asked for by one thread at a time, kept, and not asked for after a failure."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._found: tuple[float, T] | None = None
        self._failed = -FAILED

    def get(self, fresh: float, ask: Callable[[], T]) -> T:
        """What was said less than `fresh` seconds ago, or is said now. ProviderUnavailable also when it may not be
        asked: after a failure, and while it keeps another thread waiting."""
        kept = self._fresh(fresh)
        if kept is not None:
            return kept
        if time.monotonic() < self._failed + FAILED or not self._asking.acquire(timeout=PATIENCE):
            raise _away()
        try:
            kept = self._fresh(fresh)  # another thread may have asked meanwhile, or failed
            return self._asked(ask) if kept is None else kept
        finally:
            self._asking.release()

    def _asked(self, ask: Callable[[], T]) -> T:
        begun = time.monotonic()
        if begun < self._failed + FAILED:
            raise _away()
        try:
            found = ask()
        except ProviderUnavailable:
            self._failed = time.monotonic()
            raise
        self._found = (begun, found)
        return found

    def _fresh(self, seconds: float) -> T | None:
        kept = self._found
        return kept[1] if kept is not None and time.monotonic() <= kept[0] + seconds else None


def _safe(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in HOME):
        raise _unavailable("an address of it is not https")
    return url


def _names(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else ["RS256"]


def _keys(found: Json) -> KeySet:
    """Its keys for signatures; one of a kind that is not known does not make the others useless."""
    listed = found.get("keys")
    keys: list[Any] = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    public = [key for key in keys if key.get("kty") in {"RSA", "EC", "OKP"} and key.get("use", "sig") == "sig"]
    try:
        return KeySet.import_key_set({"keys": public})
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _unavailable(f"its keys cannot be read: {type(error).__name__}") from None


def _refused(why: str) -> Unauthorized:
    log.warning("a sign-in by the identity provider was refused: %s", why)
    return Unauthorized("the sign-in could not be verified", then="Sign in again")


def _unavailable(why: str) -> ProviderUnavailable:
    log.warning("the identity provider cannot be used: %s", why)
    return _away()


def _away() -> ProviderUnavailable:
    then = "Try again in a minute, or sign in another way"
    return ProviderUnavailable("the identity provider cannot be reached or does not answer as it should", then=then)
