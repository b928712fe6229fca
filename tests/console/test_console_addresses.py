from __future__ import annotations

import pytest
from starlette.requests import Request

from everloop.console.addresses import own_path, under_root


@pytest.mark.parametrize(
    "path", ["/", "/a/b", "/sign-in?cli_login=x", "/a?next=https://other.example", "/a#b", "/%2f%2fx"]
)
def test_a_path_of_our_own_is_gone_on_to(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "a",
        "https://other.example/",
        "//other.example",
        "///other.example",
        "/\\other.example",
        "\\\\other.example",
        "/\t/other.example",
        "/\n/other.example",
        "\t//other.example",
        " //other.example",
        "javascript:alert(1)",
        "http:other.example",
        "/ä",
        "/x\0",
        "/x\r\nSet-Cookie: a=b",
        "/" + "a" * 600,
    ],
)
def test_nobody_is_sent_on_to_another_site(asked: str) -> None:
    assert own_path(asked) == "/"


@pytest.mark.parametrize(
    ("root", "path", "query", "address"),
    [
        ("", "/sign-in", {}, "/sign-in"),
        ("/loops", "/sign-in", {}, "/loops/sign-in"),
        ("/loops/", "/", {"next": "/a b"}, "/loops/?next=%2Fa+b"),
        ("", "/x", {"next": ""}, "/x"),
    ],
)
def test_an_address_is_below_the_path_of_the_proxy(root: str, path: str, query: dict[str, str], address: str) -> None:
    request = Request({"type": "http", "root_path": root, "headers": []})
    assert under_root(request, path, **query) == address
