"""Single sign-on: a person goes to the identity provider, comes back, and is who it says, with the role it gives.

Nothing is kept here in between, so any server of several can finish what another began: the browser keeps the
journey, in a cookie that is signed and good for ten minutes.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from authlib.common.security import generate_token  # type: ignore[import-untyped]  # carries no types
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from everloop.errors import AccessDenied, ProviderUnavailable, Unauthorized
from everloop.events import Json
from everloop.service import people, sessions
from everloop.service.caller import PROJECT
from everloop.service.identity_provider import IdentityProvider, Journey
from everloop.service.installation import Installation
from everloop.service.permissions import Role
from everloop.settings import Settings

SECONDS = 600
"""How long a person may stay at the provider."""
EVERYBODY = "*"
"""Name in `oidc_viewer` for whoever the provider lets in."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A person who came back and was let in."""

    session: str
    """Token of the session they now have."""
    next: str
    """Path they wanted to go to."""


class SingleSignOn:
    """Single sign-on of one installation; one for each server process, safe to share between threads."""

    def __init__(self, installation: Installation) -> None:
        self._installation, self._settings = installation, installation.settings
        self._provider = IdentityProvider(installation.settings)
        secret = installation.settings.oidc_client_secret.get_secret_value()
        # the one secret that every server of an installation shares anyway
        self._key = OctKey.import_key(hashlib.sha256(b"everloop journey\0" + secret.encode()).digest())

    @property
    def offered(self) -> bool:
        """Whether the settings name a provider, a client and its secret."""
        settings = self._settings
        return bool(settings.oidc_issuer and settings.oidc_client_id and settings.oidc_client_secret)

    def begin(self, redirect_uri: str, next_path: str) -> tuple[str, str]:
        """The provider's address to go to, and what the browser keeps until it is back.

        ProviderUnavailable when the provider cannot be reached or none is set up.
        """
        self._require()
        made = (generate_token(43), generate_token(43), secrets.token_urlsafe(64))
        journey = Journey(*made, redirect_uri=redirect_uri, next=next_path)
        return self._provider.address(journey), self._sealed(journey)

    def finish(self, query: Mapping[str, str], kept: str) -> Arrived:
        """A session for the person who came back with this query, on the journey that their browser kept.

        Unauthorized when anything does not fit; AccessDenied when the provider gives them no role here.
        """
        self._require()
        journey = self._opened(kept)
        if journey is None or not secrets.compare_digest(query.get("state", "").encode(), journey.state.encode()):
            raise Unauthorized("this sign-in was not begun in this browser, or too long ago", then="Sign in again")
        self._provider.check_issuer(query.get("iss"))
        if "code" not in query:
            raise AccessDenied("the identity provider did not let you in", then="Sign in again, or ask its owner")
        claims = self._provider.claims(journey, query["code"])
        return Arrived(self._session(claims), journey.next)

    def _session(self, claims: Json) -> str:
        """A session of the person of these claims, whose role follows them at each sign-in."""
        issuer, subject = str(claims["iss"])[:512], str(claims["sub"])
        if len(subject) > 256:
            raise Unauthorized("the identity provider names you in a way that is too long")
        email = claims.get("email") if claims.get("email_verified") in {True, "true"} else None
        name = str(claims.get("name") or claims.get("preferred_username") or email or subject)
        user_id = people.user_from_oidc(
            self._installation,
            issuer,
            subject,
            str(email).strip().lower()[:320] if email else None,
            name[:256],
            role_of(claims, self._settings),
            self._settings.oidc_project or PROJECT,
        )
        return sessions.sign_in_user(self._installation, user_id)[0]

    def _require(self) -> None:
        if not self.offered:
            then = "Set EVERLOOP_OIDC_ISSUER, EVERLOOP_OIDC_CLIENT_ID and EVERLOOP_OIDC_CLIENT_SECRET"
            raise ProviderUnavailable("no identity provider is set up here", then=then)

    def _sealed(self, journey: Journey) -> str:
        return jwt.encode({"alg": "HS256"}, {**asdict(journey), "exp": int(time.time()) + SECONDS}, self._key)

    def _opened(self, kept: str) -> Journey | None:
        """The journey; None for a cookie that we did not make or that is too old."""
        try:
            found = jwt.decode(kept, self._key, algorithms=["HS256"]).claims
        except (JoseError, ValueError):
            return None
        return Journey(**{k: v for k, v in found.items() if k != "exp"}) if found["exp"] > time.time() else None


def role_of(claims: Json, settings: Settings) -> Role | None:
    """The highest role that the names in the claim `oidc_roles_claim` give; None: none.

    The claim is a list of names or one name; a dot in the setting steps into an object (``realm_access.roles``).
    """
    found: object = claims.get(settings.oidc_roles_claim)
    if found is None:
        found = claims
        for step in settings.oidc_roles_claim.split("."):
            found = found.get(step) if isinstance(found, dict) else None
    listed = found if isinstance(found, list) else [found]
    names = {one for one in listed if isinstance(one, str)}
    if names & _names(settings.oidc_admin):
        return Role.ADMIN
    if names & _names(settings.oidc_developer):
        return Role.DEVELOPER
    viewers = _names(settings.oidc_viewer)
    return Role.VIEWER if names & viewers or EVERYBODY in viewers else None


def _names(listed: str) -> set[str]:
    return {name.strip() for name in listed.split(",")} - {""}
