"""The list of train jobs and the page of one, by real requests to a real server."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import recorded
from visiting import Reader, Site

from everloop.console.jobs import LINES, ROWS
from everloop.service.permissions import Role


@pytest.fixture
def project(site: Site, reader: Reader) -> str:
    """A project of its own that the reader may look at, as a Viewer."""
    made = site.project()
    reader.enter((made, Role.VIEWER))
    return made


def jobs(project: str, job_id: str = "", **query: str) -> str:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/local/{project}/experiment/jobs" + (f"/{job_id}" if job_id else "") + (f"?{asked}" if asked else "")


def shown(reader: Reader) -> list[str]:
    return re.findall(r'<tr id="(job_\w+)">', reader.page.text)


def test_jobs_are_listed_newest_first_with_what_they_are_for(site: Site, reader: Reader, project: str) -> None:
    recorded.run(site.place, "listed", project)
    first = recorded.launched(site.place, "listed", "r1c1-a1", state="completed", seconds=63.25)
    (second,) = recorded.submitted(site.place, project)
    reader.get(jobs(project))
    assert reader.page.status_code == 200 and shown(reader) == [second, first]
    assert "completed listed 1 candidate" in reader.text and " UTC 63.2" in reader.text
    assert "pending — — submitted" in reader.text


def test_a_job_links_to_its_loop_and_the_loop_to_the_group_it_is_in(site: Site, reader: Reader, project: str) -> None:
    recorded.run(site.place, "linked", project, group="data")
    job_id = recorded.launched(site.place, "linked", "r1c1-a1")
    for path in (jobs(project), jobs(project, job_id)):
        assert f'href="/local/{project}/rsi/data-loops/linked"' in reader.get(path).text


def test_a_label_that_names_another_projects_run_leads_nowhere(site: Site, reader: Reader, project: str) -> None:
    recorded.run(site.place, "foreign", site.project())
    (job_id,) = recorded.submitted(site.place, project, labels={"rsi_run": "foreign"})
    for path in (jobs(project), jobs(project, job_id)):
        reader.get(path)
        assert "foreign" in reader.text and "-loops/foreign" not in reader.page.text
    assert reader.get(jobs(project, job_id, tab="progress")).status_code == 422


def test_a_project_without_jobs_says_how_there_come_to_be_some(reader: Reader, project: str) -> None:
    reader.get(jobs(project))
    assert "No train jobs yet" in reader.text and "el job submit --file job.json" in reader.text
    reader.get(jobs(project, status="failed"))
    assert "No job of this project is failed" in reader.text and "No train jobs yet" not in reader.text


def test_a_status_narrows_the_list_and_is_marked_as_chosen(site: Site, reader: Reader, project: str) -> None:
    recorded.submitted(site.place, project, 2)
    (failed,) = recorded.submitted(site.place, project, state="timeout", reason="too slow")
    reader.get(jobs(project, status="failed"))
    assert shown(reader) == [failed]
    assert re.search(r'href="[^"]*\?status=failed" aria-current="true"', reader.page.text)


@pytest.mark.parametrize("query", [{"status": "odd"}, {"cursor": "odd"}, {"cursor": "WyJhIl0"}])
def test_what_the_list_cannot_be_asked_for_is_refused_in_words(
    reader: Reader, project: str, query: dict[str, str]
) -> None:
    assert reader.get(jobs(project, **query)).status_code == 422
    assert "not known" in reader.text or "not of this list" in reader.text


def test_a_thousand_jobs_come_in_pages_that_hold_each_once(site: Site, reader: Reader, project: str) -> None:
    made = recorded.submitted(site.place, project, 1000)
    reader.get(jobs(project))
    seen, sizes = shown(reader), [len(shown(reader))]
    assert 'rel="next"' in reader.page.text and ">Newest<" not in reader.page.text
    while found := re.search(r'rel="next" href="([^"]*)"', reader.page.text):
        reader.get(found[1].replace("&amp;", "&"))
        seen += shown(reader)
        sizes.append(len(shown(reader)))
    assert sizes == [ROWS] * (1000 // ROWS) and sorted(seen) == sorted(made) and len(set(seen)) == 1000
    assert seen == sorted(seen, reverse=True) and ">Newest<" in reader.page.text


def test_paging_keeps_the_status(site: Site, reader: Reader, project: str) -> None:
    recorded.submitted(site.place, project, ROWS + 1, state="failed")
    reader.get(jobs(project, status="failed"))
    found = re.search(r'rel="next" href="([^"]*)"', reader.page.text)
    assert found and "status=failed" in found[1] and "cursor=" in found[1]


def test_refresh_is_a_link_to_the_very_same_view(site: Site, reader: Reader, project: str) -> None:
    reader.get(jobs(project, status="failed"))
    assert re.search(r'href="/local/[^"]*/experiment/jobs\?status=failed" data-refresh>', reader.page.text)


def test_a_job_with_nothing_but_its_name_has_a_page_with_dashes(site: Site, reader: Reader, project: str) -> None:
    """What an installation of an earlier release has recorded; no field that is missing breaks a page."""
    gone: dict[str, Any] = dict.fromkeys(("seconds", "returncode", "reason", "host", "finished_at", "spec", "subject"))
    (job_id,) = recorded.submitted(site.place, project, state="completed", **gone)
    assert reader.get(jobs(project)).status_code == 200 and shown(reader) == [job_id]
    reader.get(jobs(project, job_id))
    assert reader.page.status_code == 200
    for name in ("Ended", "Seconds", "Return code", "Reason", "Rows", "Seed", "Submitted by"):
        assert f"{name} —" in reader.text
    assert "None" not in reader.text
    assert reader.get(jobs(project, job_id, tab="log")).status_code == 200


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ('{"step": 3, "steps": 10, "loss": 0.25}', "Step 3 of 10 Loss 0.2500"),
        ('{"step": 3, "steps": 10}', "Step 3 of 10 Loss —"),
        ('{"step": 3, "steps": 10, "loss": NaN}', "State running Created"),
        ("[", "State running Created"),
    ],
)
def test_what_a_job_tells_of_itself_never_breaks_its_page(
    site: Site, reader: Reader, project: str, told: str, shown: str
) -> None:
    job_id = recorded.logged(site.place, project, b"")
    site.place.home.job(job_id).status.write_text(told)
    reader.get(jobs(project, job_id))
    assert shown in reader.text and not re.search(r"\bnan\b", reader.text, re.IGNORECASE)


def test_a_failed_job_tells_why_in_the_jobs_own_words(site: Site, reader: Reader, project: str) -> None:
    why = "exit code 1: <b>no</b> memory"
    (job_id,) = recorded.submitted(site.place, project, state="failed", reason=why, returncode=1, seconds=2.0)
    reader.get(jobs(project, job_id))
    assert "exit code 1: &lt;b&gt;no&lt;/b&gt; memory" in reader.page.text
    assert "Return code 1" in reader.text and "Seconds 2.0" in reader.text


def test_a_completed_job_offers_its_checkpoints_files(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.left(site.place, project)
    reader.get(jobs(project, job_id))
    names = re.findall(r'href="[^"]*/checkpoints\?checkpoint=ckpt_\w+&amp;file=([\w.]+)"', reader.page.text)
    assert names == ["manifest.json", "weights.safetensors"] and "17 bytes" in reader.text


def test_a_job_of_another_project_is_not_known(site: Site, reader: Reader, project: str) -> None:
    (job_id,) = recorded.submitted(site.place, site.project())
    for path in (jobs(project, job_id), jobs(project, job_id, tab="log"), jobs(project, "job_none")):
        assert reader.get(path).status_code == 404
        assert "is not known" in reader.text


def test_the_log_shows_its_last_lines_and_the_way_to_the_first(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.logged(site.place, project, b"".join(b"line %d\n" % n for n in range(1000)))
    reader.get(jobs(project, job_id, tab="log"))
    lines = re.findall(r"<code>line (\d+)</code>", reader.page.text)
    assert lines == [str(n) for n in range(1000 - LINES, 1000)]
    reader.get(jobs(project, job_id, tab="log", **{"from": "start"}))
    assert re.findall(r"<code>line (\d+)</code>", reader.page.text)[0] == "0" and "accepted" in reader.text
    found = re.search(r'rel="next" href="([^"]*)"', reader.page.text)
    assert found
    reader.get(found[1].replace("&amp;", "&"))
    assert re.findall(r"<code>line (\d+)</code>", reader.page.text)[0] == str(LINES - 2)


def test_no_job_can_write_a_log_that_is_too_much_for_a_browser(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.logged(site.place, project, b"x" * 3_000_000 + b"\n" + b"a line\n" * 100_000)
    for query in ({}, {"from": "start"}):
        reader.get(jobs(project, job_id, tab="log", **query))
        assert reader.page.status_code == 200
        assert reader.page.text.count("<li") < LINES + 60 and len(reader.page.text) < 400_000


def test_what_a_job_writes_is_text_and_nothing_else(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.logged(site.place, project, b"<script>alert(1)</script>\x1b[31m red \xff\n")
    reader.get(jobs(project, job_id, tab="log"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m red" in reader.page.text


def test_a_log_can_be_narrowed_to_one_source(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.logged(site.place, project, b"a word of the training\n")
    reader.get(jobs(project, job_id, tab="log", source="system"))
    assert "accepted" in reader.text and "a word of the training" not in reader.text
    reader.get(jobs(project, job_id, tab="log", source="runtime"))
    assert "accepted" not in reader.text and "a word of the training" in reader.text
    assert reader.get(jobs(project, job_id, tab="log", source="odd")).status_code == 422


def test_the_log_of_a_job_that_never_began_says_so(site: Site, reader: Reader, project: str) -> None:
    (job_id,) = recorded.submitted(site.place, project)
    reader.get(jobs(project, job_id, tab="log", source="runtime"))
    assert "No lines here yet" in reader.text


def test_a_job_of_a_loop_has_the_loops_progress_and_the_way_to_it(site: Site, reader: Reader, project: str) -> None:
    recorded.run(site.place, "in-progress", project, state="running", round=2, phase="train")
    job_id = recorded.launched(site.place, "in-progress", "r2c1-a1")
    (other,) = recorded.submitted(site.place, project)
    reader.get(jobs(project, job_id, tab="progress"))
    assert reader.page.status_code == 200 and "2 / 8" in reader.text.replace(" of ", " / ")
    assert f'href="/local/{project}/rsi/model-loops/in-progress"' in reader.page.text
    assert f'data-live="/local/{project}/rsi/model-loops/in-progress/live"' in reader.page.text
    assert "tab=progress" not in reader.get(jobs(project, other)).text


def test_a_loop_whose_record_cannot_be_read_breaks_no_page_of_its_jobs(
    site: Site, reader: Reader, project: str
) -> None:
    recorded.run(site.place, "unreadable-run", project, state="running", protocol={"gate": "?"}, lines={"head": 1})
    job_id = recorded.launched(site.place, "unreadable-run", "r1c1-a1")
    for query in ({}, {"tab": "progress"}):
        assert reader.get(jobs(project, job_id, **query)).status_code == 200


def test_where_no_worker_is_alive_the_list_says_so(site: Site, reader: Reader, project: str) -> None:
    recorded.submitted(site.place, project)
    reader.get(jobs(project))
    assert "Not connected. No worker gives a sign of life" in reader.text and len(shown(reader)) == 1


def test_the_pages_hold_no_way_to_change_a_job(site: Site, reader: Reader, project: str) -> None:
    (job_id,) = recorded.submitted(site.place, project)
    for path in (jobs(project), jobs(project, job_id), jobs(project, job_id, tab="log")):
        reader.get(path)
        actions = set(re.findall(r'<form method="post" action="([^"]*)"', reader.page.text))
        assert actions == {"/sign-out"} and reader.client.post(path).status_code == 405


def test_every_address_is_below_the_path_that_a_proxy_puts_before_it(
    another_site: Callable[..., Site],
) -> None:
    site = another_site(public_url="http://127.0.0.1/loops")
    place = site.place
    recorded.run(place, "behind", "local")
    job_id = recorded.launched(place, "behind", "r1c1-a1")
    recorded.asked(place, "behind", ["r1c1"])
    recorded.left(place, "local")
    reader = Reader(site)
    reader.enter(("local", Role.ADMIN))
    for path in (
        jobs("local"),
        jobs("local", job_id),
        jobs("local", job_id, tab="log"),
        jobs("local", job_id, tab="progress"),
        "/local/local/checkpoints",
        "/local/local/approvals",
        "/local/local/keys",
        "/local/local/members",
    ):
        reader.get(path)
        assert reader.page.status_code == 200
        addresses = re.findall(r'(?:href|src|action|data-live)="([^"#][^"]*)"', reader.page.text)
        assert addresses and all(one.startswith("/loops/") for one in addresses), path
    reader.client.close()
