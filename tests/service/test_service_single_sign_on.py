from __future__ import annotations

import itertools
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey
from oidc_provider import CLIENT, SECRET, Hanging, OidcProvider, signing_key
from starlette.responses import JSONResponse, Response

from everloop.errors import AccessDenied, EverloopError, ProviderUnavailable, Unauthorized
from everloop.paths import Home
from everloop.service import access, first_start, identity_provider, single_sign_on
from everloop.service.installation import Installation, open_installation
from everloop.service.permissions import OF_ROLE, Role
from everloop.service.single_sign_on import Arrived, SingleSignOn, role_of
from everloop.settings import Settings
from everloop.store import users
from everloop.store.database import Database
from everloop.store.users import UserRow

CALLBACK = "https://loops.example/sign-in/oidc/callback"
Claims = dict[str, Any]


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture(scope="module")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On SQLite: the databases differ in nothing that single sign-on does itself."""
    made = open_installation(Settings(home=tmp_path_factory.mktemp("new")))
    first_start.ensure(made)
    made.close()
    return made.home.root / "everloop.db"


@pytest.fixture
def installation(provider: OidcProvider, new_database: Path, tmp_path: Path) -> Iterator[Installation]:
    shutil.copy(new_database, tmp_path / "everloop.db")
    settings = Settings(home=tmp_path, **provider.settings)
    made = Installation(settings, Database(settings.url), Home(tmp_path))
    yield made
    made.close()


def visit(url: str) -> dict[str, str]:
    """Be at the provider; the query it sends the person back with."""
    answer = httpx2.get(url)
    assert answer.status_code == 302, answer.text
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def sign_in(sso: SingleSignOn) -> Arrived:
    url, kept = sso.begin(CALLBACK, "/next?a=1")
    return sso.finish(visit(url), kept)


def user_of(installation: Installation, arrived: Arrived) -> UserRow:
    caller = access.authenticate_session(installation, arrived.session)
    with installation.database.read() as tx:
        found = users.get(tx, caller.subject.removeprefix("user:"))
    assert found is not None
    return found


def test_a_person_comes_back_with_a_session_a_role_and_the_page_they_wanted(installation: Installation) -> None:
    arrived = sign_in(SingleSignOn(installation))
    caller = access.authenticate_session(installation, arrived.session)
    assert (caller.project_id, caller.permissions) == ("local", OF_ROLE[Role.DEVELOPER])
    assert arrived.next == "/next?a=1"
    user = user_of(installation, arrived)
    assert (user.name, user.email, user.issuer_subject) == ("Jane Doe", "jane@example.org", "248289761001")


def test_what_one_server_began_another_finishes(installation: Installation) -> None:
    url, kept = SingleSignOn(installation).begin(CALLBACK, "/")
    assert SingleSignOn(installation).finish(visit(url), kept).session


def test_the_same_person_is_the_same_user_with_the_role_of_today(
    installation: Installation, provider: OidcProvider
) -> None:
    sso = SingleSignOn(installation)
    first = user_of(installation, sign_in(sso))
    provider.person |= {"groups": ["admins"], "name": "Jane Roe"}
    arrived = sign_in(sso)
    again = user_of(installation, arrived)
    assert (again.user_id, again.name) == (first.user_id, "Jane Roe")
    assert access.authenticate_session(installation, arrived.session).permissions == OF_ROLE[Role.ADMIN]


def test_who_lost_every_role_is_refused_and_may_do_nothing_any_more(
    installation: Installation, provider: OidcProvider
) -> None:
    sso = SingleSignOn(installation)
    before = sign_in(sso)
    provider.person["groups"] = ["visitors"]
    with pytest.raises(AccessDenied):
        sign_in(sso)
    assert not access.authenticate_session(installation, before.session).permissions


def test_an_address_that_the_provider_did_not_verify_is_not_taken_over(
    installation: Installation, provider: OidcProvider
) -> None:
    provider.person["email_verified"] = False
    assert user_of(installation, sign_in(SingleSignOn(installation))).email is None


def changed(**values: object) -> Callable[[Claims], None]:
    return lambda claims: claims.update(values)


def without(name: str) -> Callable[[Claims], None]:
    return lambda claims: claims.pop(name)  # type: ignore[return-value]


BAD_CLAIMS: dict[str, Callable[[Claims], None]] = {
    "wrong nonce": changed(nonce="another"),
    "no nonce": without("nonce"),
    "wrong audience": changed(aud="another"),
    "no audience": without("aud"),
    "several audiences and no authorized party": changed(aud=[CLIENT, "another"]),
    "another authorized party": changed(aud=[CLIENT, "another"], azp="another"),
    "expired": lambda claims: claims.update(iat=int(time.time()) - 600, exp=int(time.time()) - 120),
    "no expiry": without("exp"),
    "not yet valid": changed(nbf=int(time.time()) + 3600),
    "made in the future": changed(iat=int(time.time()) + 3600),
    "wrong issuer": changed(iss="https://other.example"),
    "no issuer": without("iss"),
    "no subject": without("sub"),
    "empty subject": changed(sub=""),
    "access token of another": changed(at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
}


@pytest.mark.parametrize("fault", BAD_CLAIMS)
def test_a_token_with_a_wrong_claim_signs_nobody_in(
    installation: Installation, provider: OidcProvider, fault: str
) -> None:
    provider.change = BAD_CLAIMS[fault]
    with pytest.raises(Unauthorized, match=r"^the sign-in could not be verified\. Sign in again$"):
        sign_in(SingleSignOn(installation))
    with installation.database.read() as tx:
        assert users.by_issuer(tx, provider.issuer, "248289761001") is None


def test_clocks_may_differ_by_less_than_a_minute(installation: Installation, provider: OidcProvider) -> None:
    provider.change = lambda claims: claims.update(exp=int(time.time()) - 30)
    assert sign_in(SingleSignOn(installation)).session


def forged(provider: OidcProvider) -> None:
    """A key of the same name that the provider does not publish."""
    provider.signing = RSAKey.generate_key(2048, {"kid": "one"})


def shared(provider: OidcProvider) -> None:
    """The client's secret as an HMAC key: whoever knows the client could make tokens."""
    provider.signing, provider.algorithm = OctKey.import_key(SECRET, {"kid": "one"}), "HS256"


def public_as_secret(provider: OidcProvider) -> None:
    """The published key as an HMAC secret."""
    published = provider.keys[0].as_pem(private=False)  # type: ignore[union-attr]
    key = OctKey.generate_key(256, {"kid": "one"})
    key._raw_value = published  # the library itself does not take it
    provider.signing, provider.algorithm = key, "HS256"


def unsigned(provider: OidcProvider) -> None:
    provider.algorithm = "none"


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")  # the tests make what it warns of
@pytest.mark.parametrize("attack", [forged, shared, public_as_secret, unsigned])
def test_a_token_that_the_provider_did_not_sign_signs_nobody_in(
    installation: Installation, provider: OidcProvider, attack: Callable[[OidcProvider], None]
) -> None:
    attack(provider)
    with pytest.raises(Unauthorized):
        sign_in(SingleSignOn(installation))


def test_new_keys_of_the_provider_are_found(
    installation: Installation, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_provider, "AGAIN", 0.0)
    sso = SingleSignOn(installation)
    sign_in(sso)
    provider.signing = signing_key("two")
    provider.keys = [provider.signing]
    assert sign_in(sso).session


def test_another_kind_of_key_serves_as_well(installation: Installation, provider: OidcProvider) -> None:
    provider.signing = ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"})
    provider.keys.append(provider.signing)
    provider.algorithm = "ES256"
    assert sign_in(SingleSignOn(installation)).session


def test_an_unknown_key_is_asked_for_again_once(installation: Installation, provider: OidcProvider) -> None:
    sso = SingleSignOn(installation)
    sign_in(sso)
    provider.signing = signing_key("unpublished")
    for _ in range(3):
        with pytest.raises(Unauthorized):
            sign_in(sso)
    assert provider.asked("/jwks") == 1  # it was looked at less than half a minute ago


def test_the_description_and_keys_are_fetched_when_they_are_first_needed_and_kept(
    installation: Installation, provider: OidcProvider
) -> None:
    sso = SingleSignOn(installation)
    assert provider.requests == []
    for _ in range(2):
        sign_in(sso)
    assert (provider.asked("/.well-known/openid-configuration"), provider.asked("/jwks")) == (1, 1)


def test_a_client_that_must_post_its_secret_does(installation: Installation, provider: OidcProvider) -> None:
    provider.describe = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert sign_in(SingleSignOn(installation)).session


Tamper = Callable[[dict[str, str], str], tuple[dict[str, str], str]]
TAMPERED: dict[str, Tamper] = {
    "another state": lambda query, kept: (query | {"state": "another"}, kept),
    "no state": lambda query, kept: ({"code": query["code"]}, kept),
    "an odd state": lambda query, kept: (query | {"state": "ä\ud800".encode(errors="replace").decode()}, kept),
    "no cookie": lambda query, kept: (query, ""),
    "a changed cookie": lambda query, kept: (query, kept[:-4] + "AAAA"),
    "an unsigned cookie": lambda query, kept: (query, "eyJhbGciOiJub25lIn0." + kept.split(".")[1] + "."),
    "another code": lambda query, kept: (query | {"code": "another"}, kept),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_way_back_that_was_tampered_with_ends_without_a_session(installation: Installation, how: str) -> None:
    sso = SingleSignOn(installation)
    url, kept = sso.begin(CALLBACK, "/")
    with pytest.raises(Unauthorized):
        sso.finish(*TAMPERED[how](visit(url), kept))


def test_a_code_of_another_browser_is_of_no_use(installation: Installation) -> None:
    """Its state fits where it was put in; its nonce and PKCE verifier do not."""
    sso = SingleSignOn(installation)
    stolen = visit(sso.begin(CALLBACK, "/")[0])["code"]
    url, kept = sso.begin(CALLBACK, "/")
    with pytest.raises(Unauthorized):
        sso.finish(visit(url) | {"code": stolen}, kept)


def test_a_journey_ends_after_ten_minutes(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    sso = SingleSignOn(installation)
    monkeypatch.setattr(single_sign_on, "SECONDS", -1)
    url, kept = sso.begin(CALLBACK, "/")
    with pytest.raises(Unauthorized, match="too long ago"):
        sso.finish(visit(url), kept)


def test_a_refusal_of_the_provider_is_told_without_its_words(
    installation: Installation, provider: OidcProvider
) -> None:
    provider.refuse = "access_denied"
    with pytest.raises(AccessDenied, match="did not let you in") as caught:
        sign_in(SingleSignOn(installation))
    assert "not for you" not in str(caught.value)


def test_an_answer_that_names_another_issuer_is_refused(installation: Installation) -> None:
    sso = SingleSignOn(installation)
    url, kept = sso.begin(CALLBACK, "/")
    with pytest.raises(Unauthorized):
        sso.finish(visit(url) | {"iss": "https://other.example"}, kept)


def test_an_answer_must_name_its_issuer_where_the_provider_says_it_does(
    installation: Installation, provider: OidcProvider
) -> None:
    provider.describe = {"authorization_response_iss_parameter_supported": True}
    sso = SingleSignOn(installation)
    url, kept = sso.begin(CALLBACK, "/")
    query = visit(url)
    with pytest.raises(Unauthorized):
        sso.finish(query, kept)
    assert sso.finish(query | {"iss": provider.issuer}, kept).session


def answers(body: str, status: int = 200) -> Callable[[Claims], Response]:
    return lambda _: Response(body, status)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (answers("inner workings", 500), ProviderUnavailable),
        (answers("inner workings"), ProviderUnavailable),
        (answers("[]"), ProviderUnavailable),
        (answers('{"access_token": "at"}'), Unauthorized),
        (answers('{"id_token": 5}'), Unauthorized),
        (answers('{"id_token": "a.b.c"}'), Unauthorized),
        (answers('{"id_token": ""}'), Unauthorized),
        (lambda answer: JSONResponse({"error": "odd", "error_description": "inner workings"}), Unauthorized),
    ],
)
def test_a_token_endpoint_that_misbehaves_signs_nobody_in(
    installation: Installation,
    provider: OidcProvider,
    answer: Callable[[Claims], Response],
    error: type[EverloopError],
) -> None:
    provider.token_answer = answer
    with pytest.raises(error) as caught:
        sign_in(SingleSignOn(installation))
    assert "inner workings" not in str(caught.value)


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://other.example"},
        {"issuer": None},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "http://elsewhere.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_provider_that_does_not_describe_itself_rightly_is_not_used(
    installation: Installation, provider: OidcProvider, described: Claims
) -> None:
    provider.describe = described
    with pytest.raises(ProviderUnavailable):
        SingleSignOn(installation).begin(CALLBACK, "/")


def test_a_provider_that_is_down_is_told_and_tried_again_half_a_minute_later(
    installation: Installation,
    provider: OidcProvider,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sso = SingleSignOn(installation)
    provider.down = True
    for _ in range(3):
        with pytest.raises(ProviderUnavailable) as caught:
            sso.begin(CALLBACK, "/")
        assert "secret inner workings" not in f"{caught.value} {caplog.text}"
    assert (provider.asked("/.well-known/openid-configuration"), len(caplog.records)) == (1, 1)
    provider.down = False
    with pytest.raises(ProviderUnavailable):
        sso.begin(CALLBACK, "/")
    monkeypatch.setattr(identity_provider, "FAILED", 0.0)
    assert sign_in(sso).session


def test_a_provider_that_hangs_is_asked_once_and_nobody_waits_behind_who_asked(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_provider, "PATIENCE", 0.1)
    with Hanging() as provider, ThreadPoolExecutor(6) as pool:
        settings = installation.settings.model_copy(update={"oidc_issuer": provider.url})
        sso = SingleSignOn(replace(installation, settings=settings))
        tries = [pool.submit(sso.begin, CALLBACK, "/") for _ in range(6)]
        first = list(itertools.islice(as_completed(tries, 8), 5))  # refused while the sixth still asks
        assert sum(one.done() for one in tries) == 5
        provider.wait_for_one()
        provider.let_go()
        assert {type(one.exception()) for one in (*first, *tries)} == {ProviderUnavailable}
        assert provider.connections == 1


def test_who_comes_while_the_provider_is_being_asked_gets_its_answer_too(
    installation: Installation, provider: OidcProvider
) -> None:
    sso = SingleSignOn(installation)
    with ThreadPoolExecutor(6) as pool:
        assert len(list(pool.map(lambda _: sso.begin(CALLBACK, "/"), range(6)))) == 6
    assert provider.asked("/.well-known/openid-configuration") == 1


def test_a_provider_that_is_not_there_is_told(installation: Installation) -> None:
    settings = installation.settings.model_copy(update={"oidc_issuer": "http://127.0.0.1:9"})
    with pytest.raises(ProviderUnavailable):
        SingleSignOn(replace(installation, settings=settings)).begin(CALLBACK, "/")


@pytest.mark.parametrize("missing", ["oidc_issuer", "oidc_client_id", "oidc_client_secret"])
def test_single_sign_on_needs_issuer_client_and_secret(
    installation: Installation, provider: OidcProvider, missing: str
) -> None:
    settings = Settings(home=installation.home.root, **{**provider.settings, missing: ""})
    sso = SingleSignOn(replace(installation, settings=settings))
    assert not sso.offered
    with pytest.raises(ProviderUnavailable, match="no identity provider is set up"):
        sso.begin(CALLBACK, "/")


def test_no_secret_and_no_token_is_logged(
    installation: Installation, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.change = changed(aud="another")
    url, kept = SingleSignOn(installation).begin(CALLBACK, "/")
    query = visit(url)
    caplog.clear()
    with pytest.raises(Unauthorized):
        SingleSignOn(installation).finish(query, kept)
    assert "aud" in caplog.text
    for secret in (SECRET, query["code"], kept, "Jane", "eyJ"):
        assert secret not in caplog.text


ROLES: list[tuple[Claims, dict[str, str], Role | None]] = [
    ({"groups": ["devs"]}, {"oidc_developer": "devs"}, Role.DEVELOPER),
    ({"groups": ["devs", "boss"]}, {"oidc_developer": "devs", "oidc_admin": "boss"}, Role.ADMIN),
    ({"groups": "devs"}, {"oidc_developer": "ops , devs"}, Role.DEVELOPER),
    ({"groups": ["other"]}, {"oidc_developer": "devs"}, None),
    ({}, {"oidc_developer": "devs"}, None),
    ({}, {"oidc_viewer": "*"}, Role.VIEWER),
    ({"groups": ["guests"]}, {"oidc_viewer": "guests"}, Role.VIEWER),
    ({"groups": ["devs"]}, {"oidc_developer": "devs", "oidc_viewer": "*"}, Role.DEVELOPER),
    ({"groups": ["*"]}, {"oidc_admin": "boss"}, None),
    ({"groups": [""]}, {"oidc_admin": ","}, None),
    ({"groups": [["boss"], 1, None]}, {"oidc_admin": "boss"}, None),
    (
        {"realm_access": {"roles": ["boss"]}},
        {"oidc_admin": "boss", "oidc_roles_claim": "realm_access.roles"},
        Role.ADMIN,
    ),
    ({"https://x.y/roles": ["boss"]}, {"oidc_admin": "boss", "oidc_roles_claim": "https://x.y/roles"}, Role.ADMIN),
    ({"groups": "text"}, {"oidc_admin": "boss", "oidc_roles_claim": "groups.roles"}, None),
]


@pytest.mark.parametrize(("claims", "settings", "role"), ROLES)
def test_the_highest_role_that_a_name_gives_counts(claims: Claims, settings: dict[str, str], role: Role | None) -> None:
    assert role_of(claims, Settings(**settings)) == role
