"""Every page of the console on PostgreSQL, which holds types and statements to more than SQLite does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stored
from postgres_server import PostgresServer
from visiting import Reader, Site

from everloop.service.permissions import Role
from everloop.store import jobs, runs

PAGES = (
    "/overview",
    "/rsi/model-loops",
    "/rsi/model-loops/going-on",
    "/rsi/model-loops/going-on/board",
    "/rsi/model-loops/going-on/live",
    "/rsi/model-loops/going-on/live?since=9007199254740992",
    "/rsi/model-loops/done",
    "/rsi/model-loops/done?rounds=3",
    "/rsi/model-loops/done/board",
    "/rsi/model-loops/bare",
    "/rsi/model-loops/unreadable",
    *(f"/rsi/model-loops/done/pictures/{name}.svg" for name in ("scores", "evidence", "families", "spend", "timeline")),
    "/rsi/model-loops/done/report.html",
    "/rsi/model-loops/done/report.md",
    "/experiment/jobs",
    "/experiment/jobs?status=failed",
    "/checkpoints",
    "/approvals",
    "/keys",
    "/members",
)


@pytest.fixture(scope="module")
def admin(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    url = postgres.fresh()
    with Site(tmp_path_factory.mktemp("site"), database_url=url) as site:
        stored.running(site.place, "going-on")
        stored.finished(site.place, "done")
        stored.bare(site.place, "bare")
        stored.unreadable(site.place, "unreadable")
        reader = Reader(site)
        reader.enter(("local", Role.ADMIN))
        yield reader
        reader.client.close()
    postgres.drop(url)


@pytest.mark.postgres
@pytest.mark.parametrize("path", PAGES)
def test_the_page_is_there(admin: Reader, path: str) -> None:
    answer = admin.get(f"/local/local{path}")
    assert answer.status_code == 200, admin.text


@pytest.mark.postgres
def test_every_tab_of_a_job_is_there(admin: Reader) -> None:
    with admin.site.place.database.read() as tx:
        assert runs.get(tx, "done") is not None
        job = jobs.of_run(tx, "done", limit=1)[0].job_id
    for tab in ("details", "log", "progress"):
        assert admin.get(f"/local/local/experiment/jobs/{job}?tab={tab}").status_code == 200, tab
