"""The list of checkpoints and the way to their files, by real requests to a real server."""

from __future__ import annotations

import re
import shutil

import pytest
import recorded
from visiting import Reader, Site

from everloop.console.checkpoints import ROWS
from everloop.service import checkpoints
from everloop.service.caller import LOCAL
from everloop.service.permissions import Role


@pytest.fixture
def project(site: Site, reader: Reader) -> str:
    """A project of its own that the reader may look at, as a Viewer."""
    made = site.project()
    reader.enter((made, Role.VIEWER))
    return made


def ckpt(job_id: str) -> str:
    return "ckpt_" + job_id.removeprefix("job_")


def shown(reader: Reader) -> list[str]:
    return re.findall(r'<tr id="(ckpt_\w+)">', reader.page.text)


def test_a_checkpoint_is_listed_with_size_hashes_job_and_run(site: Site, reader: Reader, project: str) -> None:
    recorded.run(site.place, "left-one", project)
    job_id = recorded.left(site.place, project, {"rsi_run": "left-one", "agent_checkpoint": "candidate-2"})
    reader.get(f"/local/{project}/checkpoints")
    assert shown(reader) == [ckpt(job_id)]
    (item,) = checkpoints.listing(site.place, LOCAL, job_id=job_id).items
    files = item["files"]
    assert isinstance(files, list) and len(files) == 2
    assert all(isinstance(one, dict) and str(one["sha256"]) in reader.text for one in files)
    assert "candidate-2" in reader.text and "17 bytes" in reader.text and f"{item['size_bytes']} bytes" in reader.text
    assert f'href="/local/{project}/experiment/jobs/{job_id}"' in reader.page.text
    assert f'href="/local/{project}/rsi/model-loops/left-one"' in reader.page.text


def test_a_viewer_follows_a_link_to_the_very_bytes(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.left(site.place, project)
    reader.get(f"/local/{project}/checkpoints")
    found = re.search(r'href="([^"]*file=weights.safetensors)"', reader.page.text)
    assert found
    answer = reader.get(found[1].replace("&amp;", "&"))
    assert answer.status_code == 303 and answer.headers["location"].startswith("/v1/job/checkpoints/content/")
    with_no_cookie = Reader(site)
    file = with_no_cookie.get(answer.headers["location"])
    assert (file.status_code, file.content) == (200, b"weights of a test")
    assert "weights.safetensors" in file.headers["content-disposition"] and job_id
    with_no_cookie.client.close()


def test_no_page_holds_a_link_that_works_without_a_session(site: Site, reader: Reader, project: str) -> None:
    """Such a link is made when it is followed: it would stand in a page that somebody leaves open or saves."""
    recorded.left(site.place, project)
    assert "checkpoints/content" not in reader.get(f"/local/{project}/checkpoints").text


@pytest.mark.parametrize("file", ["", "nothing.bin", "../../everloop.db"])
def test_a_file_that_a_checkpoint_does_not_have_is_not_found(
    site: Site, reader: Reader, project: str, file: str
) -> None:
    job_id = recorded.left(site.place, project)
    answer = reader.get(f"/local/{project}/checkpoints", params={"checkpoint": ckpt(job_id), "file": file})
    assert answer.status_code == 404 and "no such file" in reader.text


def test_a_checkpoint_of_another_project_is_not_known(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.left(site.place, site.project())
    asked = {"checkpoint": ckpt(job_id), "file": "manifest.json"}
    assert reader.get(f"/local/{project}/checkpoints", params=asked).status_code == 404
    assert shown(reader) == [] and "is not known" in reader.text


def test_a_project_without_checkpoints_says_where_they_come_from(reader: Reader, project: str) -> None:
    reader.get(f"/local/{project}/checkpoints")
    assert "No checkpoints yet" in reader.text
    reader.get(f"/local/{project}/checkpoints?run=none-such")
    assert "No job with the label of this run has left a checkpoint" in reader.text


def test_the_list_narrows_to_one_run(site: Site, reader: Reader, project: str) -> None:
    job_id = recorded.left(site.place, project, {"rsi_run": "only-this"})
    recorded.left(site.place, project)
    reader.get(f"/local/{project}/checkpoints?run=only-this")
    assert shown(reader) == [ckpt(job_id)] and "Only of the run only-this" in reader.text


def test_checkpoints_come_in_pages_and_a_page_of_deleted_ones_leads_on(
    site: Site, reader: Reader, project: str
) -> None:
    made = [recorded.left(site.place, project) for _ in range(ROWS + 2)]
    for job_id in made[2:]:
        shutil.rmtree(site.place.home.job(job_id).root)
    reader.get(f"/local/{project}/checkpoints")
    assert shown(reader) == [] and "there may be older ones" in reader.text
    found = re.search(r'rel="next" href="([^"]*)"', reader.page.text)
    assert found
    reader.get(found[1].replace("&amp;", "&"))
    assert sorted(shown(reader)) == sorted(ckpt(job_id) for job_id in made[:2])
    assert 'rel="next"' not in reader.page.text
