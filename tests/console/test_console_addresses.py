from __future__ import annotations

import pytest
from starlette.requests import Request

from everloop.console.addresses import group_path, own_path, run_path, under_root


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


@pytest.mark.parametrize("group", ["model", "infra", "harness", "data", "search"])
def test_a_run_has_its_page_below_the_list_of_its_group(group: str) -> None:
    assert group_path("/local/local", group) == f"/local/local/rsi/{group}-loops"
    assert run_path("/local/local", group, "one") == f"/local/local/rsi/{group}-loops/one"


@pytest.mark.parametrize("group", ["odd", "", None])
def test_a_run_of_a_group_without_a_list_has_its_page_among_the_models(group: str | None) -> None:
    assert run_path("/a/b", group, "one") == "/a/b/rsi/model-loops/one"


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
