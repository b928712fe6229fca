"""Jobs, checkpoints, approvals, keys and members in a real browser: every width, by day and night, by keyboard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import recorded
from browsing import Visitor
from visiting import Site

from everloop.events import Event, EventKind
from everloop.service import approvals, keys, people
from everloop.service.caller import LOCAL
from everloop.service.keys import KeyRequest
from everloop.service.permissions import KeyKind, Role
from everloop.store import events
from everloop.store import jobs as stored_jobs

EDGES = [(360, False), (1920, True)]
"""A telephone by day, a wall by night."""
PAGES = ("experiment/jobs", "checkpoints", "approvals", "keys", "members")


@dataclass
class Project:
    """A project with a bit of everything."""

    path: str
    left: str
    launched: str
    failed: str
    logged: str


@pytest.fixture(scope="module")
def full(site: Site) -> Project:
    """Every kind of row, with long words and with nulls."""
    place, project = site.place, site.project()
    recorded.run(place, "records-1", project, state="running", round=2, phase="train")
    launched = recorded.launched(place, "records-1", "r2c1-a1", state="completed", seconds=63.25, returncode=0)
    why = "exit code 1: " + "out of memory " * 20 + "x" * 300
    (failed,) = recorded.submitted(
        place,
        project,
        labels={"rsi_run": "a-label-" * 16, "agent_purpose": "trial"},
        state="failed",
        reason=why,
        returncode=1,
    )
    recorded.submitted(place, project, state="running", stop_requested=True)
    recorded.submitted(place, project, 2)
    left = recorded.left(place, project, {"rsi_run": "records-1", "agent_checkpoint": "candidate-" * 10})
    logged = recorded.logged(place, project, b"<b>a line</b>\n" * 500 + b"y" * 5000 + b"\n")
    one, two, *_ = recorded.asked(place, "records-1", ["r1c1", "r2c1", "r3c1"])
    recorded.asked(place, "records-1", ["r4c1"], {})
    approvals.decide(place, one, "approve")
    approvals.decide(place, two, "reject", "The gain is in one family. " * 30)
    for name, kind, days in (("nightly", KeyKind.AUTOMATION, 30), ("n" * 128, KeyKind.READ_ONLY, None)):
        _, row = keys.create_key(place, KeyRequest(name, kind, expires_days=days), LOCAL, project)
    keys.revoke_key(place, row.prefix, LOCAL)
    _, gone = site.person((project, Role.VIEWER), password=None)
    people.disable_user(place, gone, LOCAL)
    return Project(f"/local/{project}", left, launched, failed, logged)


@pytest.fixture
def admin(visitor: Visitor, full: Project) -> Visitor:
    visitor.enter((full.path.removeprefix("/local/"), Role.ADMIN))
    return visitor


@pytest.mark.parametrize("page", [*PAGES, "approvals?state=rejected"])
def test_a_list_fits_every_screen_and_is_accessible(admin: Visitor, full: Project, page: str) -> None:
    admin.go(f"{full.path}/{page}")
    admin.looks_right(EDGES)


@pytest.mark.parametrize("name", ["left", "failed", "logged?tab=log", "launched?tab=progress"])
def test_every_tab_of_a_job_fits_every_screen_and_is_accessible(admin: Visitor, full: Project, name: str) -> None:
    job, _, tab = name.partition("?")
    admin.go(f"{full.path}/experiment/jobs/{getattr(full, job)}?{tab}")
    admin.looks_right(EDGES)


def test_empty_lists_fit_the_smallest_screen_and_are_accessible(visitor: Visitor, site: Site) -> None:
    project = site.project()
    visitor.enter((project, Role.ADMIN))
    visitor.look(360)
    for page in PAGES:
        visitor.go(f"/local/{project}/{page}")
        assert (visitor.overflow, visitor.axe()) == (0, [])


def test_the_page_that_refuses_what_only_an_admin_may_see_is_accessible(visitor: Visitor, full: Project) -> None:
    visitor.enter((full.path.removeprefix("/local/"), Role.DEVELOPER))
    visitor.expected.append("403")
    visitor.go(f"{full.path}/keys")
    visitor.look(360)
    assert (visitor.overflow, visitor.axe()) == (0, [])


def test_pages_of_a_thousand_jobs_load_at_once(visitor: Visitor, site: Site) -> None:
    project = site.project()
    recorded.submitted(site.place, project, 1000)
    visitor.enter((project, Role.VIEWER))
    visitor.go(f"/local/{project}/experiment/jobs")
    visitor.press("Older")
    assert visitor.at("tbody tr").count() == 50
    assert visitor.overflow == 0
    assert visitor.ask("performance.getEntriesByType('navigation')[0].encodedBodySize") < 40 * 1024


def test_a_job_is_reached_and_read_with_the_keyboard_alone(admin: Visitor, full: Project) -> None:
    page = admin.go(f"{full.path}/experiment/jobs")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert admin.ask("document.activeElement.id") == "main"
    for _ in range(40):
        page.keyboard.press("Tab")
        if admin.ask("document.activeElement.textContent") == full.logged:
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.get_by_role("link", name="Log", exact=True).focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    lines = page.get_by_role("region", name="Log of the job")
    lines.focus()
    before = lines.evaluate("one => one.scrollTop")
    page.keyboard.press("PageUp")
    admin.until("document.querySelector('.log').scrollTop !== " + str(before))


def test_the_end_of_a_log_is_what_one_sees_first(admin: Visitor, full: Project) -> None:
    page = admin.go(f"{full.path}/experiment/jobs/{full.logged}?tab=log")
    lines = page.get_by_role("region", name="Log of the job")
    box, last = lines.bounding_box(), lines.locator("li").last.bounding_box()
    assert box is not None and last is not None
    assert box["y"] <= last["y"] + last["height"] <= box["y"] + box["height"] + 1


def test_the_loops_progress_goes_on_below_its_job_without_a_reload(admin: Visitor, site: Site, full: Project) -> None:
    page = admin.go(f"{full.path}/experiment/jobs/{full.launched}?tab=progress")
    page.get_by_role("link", name="Refresh").focus()
    with site.place.database.write() as tx:
        events.append(tx, "records-1", Event(EventKind.MESSAGE, "a word that was not there before"))
    page.get_by_text("a word that was not there before").first.wait_for()
    assert admin.ask("document.activeElement.textContent") == "Refresh"
    assert [one for one in admin.requests if "tab=progress" in one] == [
        f"GET {full.path}/experiment/jobs/{full.launched}?tab=progress"
    ]


def test_a_job_that_ends_is_seen_to_end_without_a_reload(admin: Visitor, site: Site, full: Project) -> None:
    (job_id,) = recorded.submitted(site.place, full.path.removeprefix("/local/"), state="running")
    admin.page.clock.install()
    page = admin.go(f"{full.path}/experiment/jobs/{job_id}")
    assert page.locator("#status").inner_text().strip() == "running"
    admin.until("document.documentElement.dataset.script === 'on'")
    admin.ask("window.stayed = true")
    with site.place.database.write() as tx:
        stored_jobs.end(tx, job_id, "failed", reason="it ran out of memory", seconds=1.0, returncode=1)
    page.get_by_role("link", name="Refresh").click()
    page.locator("#status .state-failed").wait_for()
    page.get_by_text("it ran out of memory").wait_for()
    assert admin.ask("window.stayed")
    asked = len(admin.requests)
    page.clock.run_for(60_000)
    assert len(admin.requests) == asked  # nothing on the page changes any more


def test_a_checkpoint_is_saved_with_the_hash_that_the_page_names(admin: Visitor, full: Project, tmp_path: Path) -> None:
    page = admin.go(f"{full.path}/checkpoints")
    with page.expect_download() as started:
        page.get_by_role("link", name="Download weights.safetensors").first.click()
    started.value.save_as(tmp_path / "weights")
    content = (tmp_path / "weights").read_bytes()
    assert content == b"weights of a test" and hashlib.sha256(content).hexdigest() in admin.text


def test_the_families_of_an_approval_open_with_the_keyboard(admin: Visitor, full: Project) -> None:
    page = admin.go(f"{full.path}/approvals")
    summary = page.locator("summary", has_text="Families").first
    summary.focus()
    page.keyboard.press("Enter")
    assert "Pairs of r3c1 and v0 by family" in admin.text


def test_a_chinese_browser_gets_the_pages_in_chinese(visit: Callable[..., Visitor], full: Project) -> None:
    visitor = visit(locale="zh-CN", width=360)
    visitor.enter((full.path.removeprefix("/local/"), Role.ADMIN))
    for page in (*PAGES, f"experiment/jobs/{full.left}", f"experiment/jobs/{full.logged}?tab=log"):
        visitor.go(f"{full.path}/{page}")
        assert visitor.ask("document.documentElement.lang") == "zh-CN"
        assert visitor.overflow == 0, page


def test_pages_are_complete_without_a_script(visit: Callable[..., Visitor], full: Project) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.enter((full.path.removeprefix("/local/"), Role.ADMIN))
    for page, word in zip(PAGES, ("stopping", "weights.safetensors", "r3c1", "nightly", "disabled"), strict=True):
        visitor.go(f"{full.path}/{page}")
        assert word in visitor.text
        visitor.press("Refresh")
        assert word in visitor.text
