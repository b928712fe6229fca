from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme

from everloop import address
from everloop.errors import InvalidRequest
from everloop.listening import tcp_port
from everloop.settings import Settings


def settings(**named: Any) -> Settings:
    return Settings(**named)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    issued = trustme.CA().issue_cert("localhost")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    return str(certificate), str(key)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_needs_no_tls(host: str) -> None:
    address.check(settings(host=host))


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.5", "192.168.1.1", "loops.example.org", "127.0.0.1.nip.io"]
)
def test_any_other_address_needs_tls_or_a_proxy(host: str, pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="clear text"):
        address.check(settings(host=host))
    address.check(settings(host=host, trusted_proxy="10.0.0.9"))
    address.check(settings(host=host, tls_certificate=pair[0], tls_key=pair[1]))


def test_half_of_tls_is_refused(pair: tuple[str, str]) -> None:
    for half in ({"tls_certificate": pair[0]}, {"tls_key": pair[1]}):
        with pytest.raises(InvalidRequest, match="by half"):
            address.check(settings(**half))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("text", [None, "", "no PEM"])
def test_files_that_are_no_certificate_and_key_are_refused(
    pair: tuple[str, str], tmp_path: Path, place: int, text: str | None
) -> None:
    wrong, files = tmp_path / "wrong.pem", list(pair)
    if text is not None:
        wrong.write_text(text)
    files[place] = str(wrong)
    with pytest.raises(InvalidRequest, match="cannot be used"):
        address.check(settings(tls_certificate=files[0], tls_key=files[1]))


def test_a_key_of_another_certificate_is_refused(pair: tuple[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(other)
    with pytest.raises(InvalidRequest, match="mismatch"):
        address.check(settings(tls_certificate=pair[0], tls_key=str(other)))


def test_a_key_with_a_password_is_refused_without_asking(pair: tuple[str, str], tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(Path(pair[1]).read_bytes(), None)
    sealed = tmp_path / "sealed.pem"
    how = serialization.BestAvailableEncryption(b"secret")
    form = serialization.PrivateFormat.PKCS8
    sealed.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, how))
    with pytest.raises(InvalidRequest, match="password"):
        address.check(settings(tls_certificate=pair[0], tls_key=str(sealed)))


@pytest.mark.parametrize(
    ("text", "found"),
    [("", []), ("10.0.0.5", ["10.0.0.5"]), (" 10.0.0.0/8 , ::1 ,", ["10.0.0.0/8", "::1"])],
)
def test_proxies_are_addresses_and_networks(text: str, found: list[str]) -> None:
    assert address.proxies(settings(trusted_proxy=text)) == found


@pytest.mark.parametrize("text", ["*", "proxy.example.org", "10.0.0.5/8", "10.0.0"])
def test_what_is_no_address_is_no_proxy(text: str) -> None:
    with pytest.raises(InvalidRequest, match="TRUSTED_PROXY"):
        address.check(settings(trusted_proxy=text))


@pytest.mark.parametrize(
    ("url", "path"),
    [("", ""), ("https://a.example", ""), ("https://a.example/", ""), ("http://a.example:81/x/y/", "/x/y")],
)
def test_the_public_address_may_have_a_path(url: str, path: str) -> None:
    assert address.public_path(settings(public_url=url)) == path


@pytest.mark.parametrize(
    "url",
    [
        "a.example",
        "ftp://a.example",
        "https://",
        "https://u:p@a.example",
        "https://a.example/?q=1",
        "https://a.example/#x",
        "https://a.example:99999",
        "https://a.example:0",
        "https://[::1",
        "https://\u00e4.example",
    ],
)
def test_what_is_no_address_for_people_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="PUBLIC_URL"):
        address.check(settings(public_url=url))


@pytest.mark.parametrize(
    ("named", "local", "public"),
    [
        ({}, "http://127.0.0.1:8711", "http://127.0.0.1:8711"),
        ({"host": "::1", "port": 80}, "http://[::1]:80", "http://[::1]:80"),
        ({"host": "0.0.0.0"}, "http://127.0.0.1:8711", "http://127.0.0.1:8711"),
        ({"host": "::"}, "http://[::1]:8711", "http://[::1]:8711"),
        ({"public_url": "https://a.example/x/"}, "http://127.0.0.1:8711", "https://a.example/x"),
        ({"tls_certificate": "c", "tls_key": "k"}, "https://127.0.0.1:8711", "https://127.0.0.1:8711"),
        (
            {"tls_certificate": "c", "tls_key": "k", "public_url": "https://a.example"},
            "https://a.example",
            "https://a.example",
        ),
    ],
)
def test_addresses_for_programs_here_and_for_people(named: dict[str, Any], local: str, public: str) -> None:
    assert (address.local_url(settings(**named)), address.public_url(settings(**named))) == (local, public)


def test_the_port_that_was_taken_is_the_one_that_is_told() -> None:
    with tcp_port("127.0.0.1", 0) as listener:
        found = address.of(settings(port=0), listener)
        assert found.port == listener.getsockname()[1] and found.port > 0
