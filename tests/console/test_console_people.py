"""Different people at the same pages: by keyboard, on a telephone and a wall, without motion, in Chinese, on paper."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import stored
from browsing import Visitor
from happening import RUNS, Watched, happen
from visiting import Site

Watch = Callable[[str], Watched]
HERE = "/local/local"
MOVING = """[...document.querySelectorAll('*')].filter((one) => {
    const style = getComputedStyle(one);
    return [style.transitionDuration, style.animationDuration].some((all) => all.split(', ').some((t) => t !== '0s'));
}).map((one) => one.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def finished(site: Site) -> str:
    return stored.finished(site.place, "looked-at")


def test_a_run_can_be_followed_by_keyboard_alone(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    keys, visitor = page.visitor.page.keyboard, page.visitor
    keys.press("Tab")
    assert visitor.ask("document.activeElement.className") == "skip"
    keys.press("Enter")
    assert visitor.ask("document.activeElement.id") == "main"
    for _ in range(80):
        keys.press("Tab")
        if visitor.ask("document.activeElement.localName === 'summary' && !document.activeElement.parentNode.open"):
            break
    name = visitor.ask("document.activeElement.parentNode.id")
    assert name
    assert visitor.ask("document.activeElement.matches(':focus-visible')")
    keys.press("Enter")
    happen(site.place, run, "meanwhile", round=6)
    page.polls()
    page.shows("meanwhile")
    page.settle()
    assert visitor.ask(f"document.getElementById('{name}').open")
    assert visitor.ask(f"document.activeElement.parentNode.id === '{name}'")
    keys.press("Enter")
    assert not visitor.ask(f"document.getElementById('{name}').open")


def test_what_scrolls_can_be_scrolled_by_keyboard(visitor: Visitor, finished: str) -> None:
    visitor.enter()
    visitor.go(f"{RUNS}/{finished}")
    found = visitor.ask(
        """[...document.querySelectorAll('main *')].filter((one) => /auto|scroll/.test(getComputedStyle(one).overflowX)
            && one.tabIndex < 0 && one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert found == []


def test_nothing_moves(visit: Callable[..., Visitor], finished: str) -> None:
    visitor = visit(reduced_motion="reduce")
    visitor.enter()
    visitor.go(f"{RUNS}/{finished}")
    assert visitor.ask(MOVING) == []
    assert visitor.ask("document.getAnimations().length") == 0
    assert visitor.ask("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_a_chinese_reader_gets_a_chinese_page(visit: Callable[..., Visitor], site: Site) -> None:
    run = stored.running(site.place, "read-in-chinese")
    visitor = visit(locale="zh-CN", timezone_id="Asia/Shanghai")
    visitor.enter()
    page = Watched(visitor, f"{RUNS}/{run}")
    assert visitor.ask("document.documentElement.lang") == "zh-CN"
    happen(site.place, run, "新消息", round=7)
    page.polls()
    page.shows("新消息")
    page.settle()
    assert visitor.at("#events time").first.inner_text().endswith("GMT+8")
    assert visitor.overflow == 0


def test_a_page_on_paper_has_no_navigation_and_no_buttons(visitor: Visitor, finished: str) -> None:
    visitor.enter()
    visitor.go(f"{RUNS}/{finished}")
    visitor.page.emulate_media(media="print")
    assert not visitor.at("nav").first.is_visible()
    assert not visitor.page.get_by_role("button", name="Sign out").is_visible()
    assert visitor.at("#picture-scores figure > svg").is_visible()


def test_a_picture_is_saved_as_png(visitor: Visitor, finished: str, tmp_path: Path) -> None:
    visitor.enter()
    visitor.go(f"{RUNS}/{finished}")
    visitor.until("document.documentElement.dataset.script")
    with visitor.page.expect_download() as saved:
        visitor.at("#picture-scores").get_by_role("link", name="PNG").click()
    saved.value.save_as(tmp_path / "saved.png")
    raw = (tmp_path / "saved.png").read_bytes()
    assert saved.value.suggested_filename.endswith("scores.png")
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", raw[16:24])
    assert width > 1000
    assert height > 200
    assert len(raw) > 5000  # something is drawn


def test_a_picture_that_cannot_be_made_is_told(visitor: Visitor, finished: str) -> None:
    visitor.enter()
    visitor.expected.append("Failed to load|ERR_")
    visitor.go(f"{RUNS}/{finished}")
    visitor.page.route("**/pictures/scores.svg", lambda route: route.abort())
    visitor.at("#picture-scores").get_by_role("link", name="PNG").click()
    visitor.at(".notice").wait_for()
    assert "The picture could not be made" in visitor.at(".notice").inner_text()


def test_a_picture_for_which_the_browser_has_no_room_is_told(visitor: Visitor, finished: str) -> None:
    visitor.enter()
    visitor.go(f"{RUNS}/{finished}")
    visitor.until("document.documentElement.dataset.script")
    visitor.ask("void (HTMLCanvasElement.prototype.toBlob = (done) => done(null))")
    visitor.at("#picture-scores").get_by_role("link", name="PNG").click()
    visitor.at(".notice").wait_for()
    assert "The picture could not be made here. Try again, or take it as SVG." in visitor.at(".notice").inner_text()


def test_a_command_that_may_not_be_copied_is_told(
    another_site: Callable[..., Site], visit: Callable[..., Visitor]
) -> None:
    empty = visit(another_site())
    empty.enter()
    empty.go(RUNS)
    empty.until("document.documentElement.dataset.script")
    refused = "() => Promise.reject(new DOMException('no', 'NotAllowedError'))"
    empty.ask(f"void (navigator.clipboard.writeText = {refused})")
    empty.page.get_by_role("button", name="Copy").first.click()
    empty.at(".notice").wait_for()
    assert "This could not be copied. Select it and copy it by hand." in empty.at(".notice").inner_text()


def test_a_command_is_copied(
    visitor: Visitor, another_site: Callable[..., Site], visit: Callable[..., Visitor]
) -> None:
    empty = visit(another_site())
    empty.context.grant_permissions(["clipboard-read", "clipboard-write"])
    empty.enter()
    empty.go(RUNS)
    empty.until("document.documentElement.dataset.script")
    empty.page.get_by_role("button", name="Copy").first.click()
    empty.page.get_by_role("button", name="Copied").wait_for()
    assert empty.ask("navigator.clipboard.readText()").startswith("el job run start ")


def test_the_progress_of_a_loop_is_followed_on_the_page_of_its_job(visitor: Visitor, site: Site, run: str) -> None:
    visitor.enter()
    visitor.go(f"{RUNS}/{run}")
    job = visitor.ask("document.querySelector('#jobs tbody a').getAttribute('href')")
    page = Watched(visitor, f"{job}?tab=progress")
    happen(site.place, run, "seen from the job")
    page.polls()
    page.shows("seen from the job")
    assert page.count("/board") == 0
