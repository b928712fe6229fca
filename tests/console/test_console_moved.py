from __future__ import annotations

import pytest
import stored
from visiting import Reader, Site

from everloop.service import sessions
from everloop.service.permissions import Role


@pytest.fixture(scope="module")
def place(site: Site) -> Site:
    stored.stopped(site.place, "moved-model")
    stored.stopped(site.place, "moved-data", group="data")
    stored.stopped(site.place, "moved-odd", group="odd")
    return site


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/local/local/agent-runs", "/local/local/rsi/model-loops"),
        ("/local/local/agent-runs/moved-model", "/local/local/rsi/model-loops/moved-model"),
        ("/local/local/agent-runs/moved-data", "/local/local/rsi/data-loops/moved-data"),
        ("/local/local/agent-runs/moved-odd", "/local/local/rsi/model-loops/moved-odd"),
        ("/agent-runs", "/local/local/agent-runs"),
        ("/agent-runs/moved-data", "/local/local/agent-runs/moved-data"),
    ],
)
def test_an_old_address_goes_on_to_the_page_of_today(place: Site, reader: Reader, old: str, new: str) -> None:
    reader.enter()
    answer = reader.get(old)
    assert (answer.status_code, answer.headers["location"]) == (303, new)


def test_without_a_project_it_is_that_of_the_session(place: Site, reader: Reader) -> None:
    project = place.project()
    reader.enter(("local", Role.VIEWER), (project, Role.VIEWER))
    sessions.choose_project(place.place, reader.session, project)
    assert reader.get("/agent-runs").headers["location"] == f"/local/{project}/agent-runs"


@pytest.mark.parametrize("old", ["/agent-runs", "/agent-runs/moved-model", "/local/local/agent-runs/moved-model"])
def test_who_is_not_signed_in_does_that_first(place: Site, reader: Reader, old: str) -> None:
    answer = reader.get(old)
    assert answer.headers["location"] == f"/sign-in?next={old.replace('/', '%2F')}"


@pytest.mark.parametrize("run", ["nothing", "NOT-A-RUN", "%2e%2e"])
def test_a_run_that_the_reader_does_not_see_is_not_found(place: Site, reader: Reader, run: str) -> None:
    reader.enter()
    assert reader.get(f"/local/local/agent-runs/{run}").status_code == 404


def test_a_run_of_another_project_is_not_found(place: Site, reader: Reader) -> None:
    project = place.project()
    reader.enter((project, Role.ADMIN))
    assert reader.get(f"/local/{project}/agent-runs/moved-model").status_code == 404


def test_a_run_of_a_group_without_a_list_is_at_home_among_the_models(place: Site, reader: Reader) -> None:
    reader.enter()
    home = "/local/local/rsi/model-loops/moved-odd"
    for group in ("odd", "data"):
        answer = reader.get(f"/local/local/rsi/{group}-loops/moved-odd")
        assert (answer.status_code, answer.headers["location"]) == (303, home)
    assert reader.get(home).status_code == 200
    assert f'data-live="{home}/live"' in reader.page.text


def test_an_old_address_of_a_run_that_cannot_be_read_leads_to_its_page(site: Site, reader: Reader) -> None:
    run = stored.unreadable(site.place, "moved-unreadable")
    reader.enter()
    answer = reader.get(f"/local/local/agent-runs/{run}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/local/local/rsi/model-loops/{run}")
