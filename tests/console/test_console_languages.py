from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
import recorded
import sqlalchemy as sa
import stored
from browsing import Visitor
from visiting import Reader, Site

from everloop.service.caller import Caller
from everloop.service.permissions import Permission, Role
from everloop.values import iso, utcnow

LOOPS = "/local/local/rsi/model-loops"


@pytest.fixture
def guest(reader: Reader) -> Reader:
    reader.enter()
    return reader


def switch(reader: Reader) -> str:
    """Where the page's switch of the language leads."""
    found = re.search(r'href="([^"]*/language[^"]*)"', reader.page.text)
    assert found
    return html.unescape(found[1])


def tag(reader: Reader) -> str:
    return reader.page.text.partition('<html lang="')[2].partition('"')[0]


@pytest.mark.parametrize(
    ("accepted", "wanted"),
    [("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"), ("de, en;q=0.5", "en"), ("zh-TW", "zh-CN"), ("", "en")],
)
def test_a_page_is_in_the_language_that_the_browser_asks_for(guest: Reader, accepted: str, wanted: str) -> None:
    guest.get(LOOPS, headers={"Accept-Language": accepted})
    assert tag(guest) == wanted
    assert ("模型循环" in guest.text) == (wanted == "zh-CN")


def test_the_switch_is_remembered_and_leads_back_to_the_same_page(guest: Reader) -> None:
    guest.get(LOOPS, params={"columns": "all"})
    answer = guest.get(switch(guest))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{LOOPS}?columns=all")
    guest.get(LOOPS, headers={"Accept-Language": "en"})
    assert tag(guest) == "zh-CN"
    guest.get(guest.get(switch(guest)).headers["location"])
    assert tag(guest) == "en"


@pytest.mark.parametrize("tag", ["en", "zh-CN"])
def test_what_is_english_in_every_language_says_so(site: Site, reader: Reader, tag: str) -> None:
    project = site.project()
    caller = Caller("user:x", "local", project, frozenset(Permission))
    failed = stored.failed(site.place, f"failed-{tag.lower()}", caller=caller, updated_at=str(iso(utcnow())))
    broken = stored.unreadable(site.place, f"broken-{tag.lower()}", caller=caller)
    with site.place.database.write() as tx:  # so that the list cannot read its row either
        tx.execute(sa.text("update runs set owner = '{\"subject\": ' where run = :run"), {"run": broken})
    (job_id,) = recorded.submitted(site.place, project, state="failed", reason="600 s have passed")
    reader.enter((project, Role.VIEWER))
    loops, why = "rsi/model-loops", "KeyError in phase"
    pages = [("overview", why), (loops, broken), (f"{loops}/{failed}", why), (f"{loops}/{broken}", broken)]
    for path, text in [*pages, (f"experiment/jobs/{job_id}", "600 s")]:
        page = reader.get(f"/local/{project}/{path}", headers={"Accept-Language": tag}).text
        before_events = page.partition("<main")[2].partition("data-events")[0]
        elements = re.findall(rf"<(?:span|bdi|dd)\b([^>]*)>[^<]*{text}", before_events)
        assert elements, path
        assert all((' lang="en"' in one) == (tag != "en") for one in elements), (path, elements)


def test_the_sign_in_page_can_be_switched_by_a_stranger(reader: Reader) -> None:
    reader.get("/sign-in", params={"next": LOOPS})
    answer = reader.get(switch(reader))
    assert answer.headers["location"] == "/sign-in?next=%2Flocal%2Flocal%2Frsi%2Fmodel-loops"
    reader.get(answer.headers["location"])
    assert "登录" in reader.text


@pytest.mark.parametrize(
    "wanted", ["https://other.example", "//other.example", "/\\other.example", "javascript:alert(1)"]
)
def test_the_switch_leads_to_no_other_site(reader: Reader, wanted: str) -> None:
    assert reader.get("/language", params={"to": "zh-CN", "next": wanted}).headers["location"] == "/"


@pytest.mark.parametrize("unknown", ["", "xx", "zh-CN\r\nSet-Cookie: a=b", "<b>"])
def test_a_language_that_there_is_not_is_told(reader: Reader, unknown: str) -> None:
    assert reader.get("/language", params={"to": unknown}).status_code == 422
    assert not [name for name in reader.client.cookies if name.startswith("everloop_language")]


@pytest.mark.parametrize("kept", ["xx", "", "ZH", "zh_CN"])
def test_a_kept_language_that_there_is_not_is_passed_over(guest: Reader, kept: str) -> None:
    guest.client.cookies.set(f"everloop_language_{guest.site.place.settings.port}", kept, domain="127.0.0.1")
    guest.get(LOOPS, headers={"Accept-Language": "en"})
    assert tag(guest) == "en"


def test_an_error_is_told_in_the_language_of_the_reader(reader: Reader) -> None:
    reader.get("/sign-in", headers={"Accept-Language": "zh"})
    reader.send("/sign-in", {"Accept-Language": "zh"}, email="nobody@example.org", password="wrong")
    assert "电子邮箱或密码错误。" in reader.text
    assert 'lang="en"' not in reader.page.text.partition("<main")[2]


def test_an_error_without_a_translation_is_marked_as_english(guest: Reader) -> None:
    guest.get("/language", params={"to": "x x"}, headers={"Accept-Language": "zh"})
    assert "<span lang=\"en\">Language 'x x' is not known.</span>".replace("'", "&#39;") in guest.page.text


def test_an_error_about_a_name_is_told_in_the_language_of_the_reader(guest: Reader) -> None:
    guest.get("/language", params={"to": "xx"}, headers={"Accept-Language": "zh"})
    assert "未知语言 'xx'。" in guest.text
    assert 'lang="en"' not in guest.page.text.partition("<main")[2]


def test_pages_in_chinese_fit_every_screen(visit: Callable[..., Visitor], site: Site) -> None:
    stored.paused(site.place, "chinese-paused")
    visitor = visit(locale="zh-CN")
    visitor.enter(("local", Role.ADMIN))
    for path, word in (("/local/local/overview", "需要人工处理"), (LOOPS, "模型循环")):
        visitor.go(path)
        assert word in visitor.text
        visitor.looks_right([(360, False), (1920, True)])
