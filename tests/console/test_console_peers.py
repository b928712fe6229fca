"""Complaints about other consoles, each with the issue it was made in, and that it does not happen here."""

from __future__ import annotations

import re
import statistics
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
import stored
import uvicorn
from browsing import Visitor
from happening import ADMINS, HERE, PAGES, RUNS, Watched, happen
from proxied import Proxy
from visiting import Reader, Site

from everloop import listening
from everloop.console import pages
from everloop.server import application, configured
from everloop.service import sessions
from everloop.service.permissions import Role
from everloop.store import tables

Watch = Callable[[str], Watched]


def test_mlflow_1849_a_refresh_keeps_scroll_and_settings(
    visit: Callable[..., Visitor], another_site: Callable[..., Site]
) -> None:
    site = another_site()
    stored.many(site.place, 25)
    visitor = visit(site, width=360)
    visitor.enter()
    page = Watched(visitor, f"{RUNS}?columns=all")
    visitor.ask("scrollTo(0, 300)")
    visitor.ask("document.querySelector('.scroll').scrollLeft = 60")
    top, sideways = visitor.ask("[scrollY, document.querySelector('.scroll').scrollLeft]")
    stored.running(site.place, "the-newest")
    visitor.ask("document.querySelector('a[data-refresh]').click()")
    visitor.at("#run-the-newest").wait_for()
    page.settle()
    assert visitor.page.url.endswith("?columns=all")
    assert visitor.at(".runs .more").first.is_visible()
    assert visitor.ask("document.querySelector('.scroll').scrollLeft") == sideways
    assert visitor.ask("scrollY") >= top > 0


def test_mlflow_12839_refresh_refreshes_what_is_shown(visitor: Visitor, site: Site) -> None:
    run = stored.running(site.place, "refreshed")
    visitor.enter()
    page = Watched(visitor, RUNS)
    happen(site.place, run, round=7, rounds_target=31)
    visitor.page.get_by_role("link", name="Refresh", exact=True).click()
    visitor.until("document.querySelector('#run-refreshed').textContent.includes('31')")
    assert len(page.asked) == 1
    page.wait(0.5)
    assert visitor.at("body > [role=status]").inner_text().startswith("Refreshed at ")


def test_mlflow_12839_refresh_refreshes_where_scripts_are_off(visit: Callable[..., Visitor], site: Site) -> None:
    run = stored.running(site.place, "refreshed-plainly")
    visitor = visit(java_script_enabled=False)
    visitor.enter()
    visitor.go(f"{RUNS}/{run}")
    happen(site.place, run, round=7, rounds_target=31)
    visitor.press("Refresh")
    assert "7 / 31" in visitor.at("#progress").inner_text()


def test_mlflow_3631_an_installation_from_source_has_the_pages() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    needed = {re.split("[<>=]", one)[0] for one in project["build-system"]["requires"]}
    assert needed <= {"babel", "hatchling"}  # nothing that asks for Node
    shipped = {one.name for one in pages.STATIC.iterdir()}
    assert {"console.css", "console.js", "icon.svg"} <= shipped
    templates = {one.name for one in (pages.STATIC.parent / "templates").iterdir()}
    assert {"base.html", "run.html", "loops.html"} <= templates
    assert "src/everloop" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_mlflow_597_19031_it_works_below_the_path_of_a_proxy(
    visit: Callable[..., Visitor], another_site: Callable[..., Site]
) -> None:
    with Proxy() as proxy:
        site = another_site(public_url=proxy.url)
        proxy.behind = site.url
        run = stored.running(site.place, "proxied")
        visitor = visit(site, base_url=f"{proxy.url}/")
        _, user_id = site.person(("local", Role.ADMIN), password=None)
        visitor.go(f"{proxy.url}/sign-in/link?token={sessions.make_link(site.place, user_id)}")
        visitor.press("Sign in")
        for name in [*PAGES, *ADMINS]:
            visitor.go(f"{proxy.url}{HERE}/{name}")
            assert visitor.page.url == f"{proxy.url}{HERE}/{name}"
        page = Watched(visitor, f"{proxy.url}{RUNS}")
        visitor.page.clock.resume()
        visitor.press("proxied")
        visitor.until("document.documentElement.dataset.script")
        happen(site.place, run, "it arrives behind the proxy", round=6)
        page.polls()
        page.shows("it arrives behind the proxy")
        assert proxy.outside == []
        assert {status for _, status in visitor.statuses} <= {200, 303, 304}


def test_mlflow_15535_a_nan_breaks_neither_page_nor_poll(visitor: Visitor, site: Site) -> None:
    run = stored.finished(site.place, "with-gaps", state="running")
    with site.place.database.write() as tx:
        where = tables.gates.c.run == run
        document = dict(tx.execute(sa.select(tables.gates.c.document).where(where)).scalars().first() or {})
        spoilt = document | {"mean": float("nan"), "low": float("inf"), "change": float("nan")}
        tx.execute(sa.update(tables.gates).where(where).values(document=spoilt))
    visitor.enter()
    page = Watched(visitor, f"{RUNS}/{run}")
    happen(site.place, run, "still alive", round=7)
    page.polls()
    page.shows("still alive")
    words = visitor.text.lower()
    assert not re.search(r"\b(nan|inf|infinity)\b", words)
    assert visitor.at("#gates table").count() > 0


def test_mlflow_13659_a_zero_is_shown_and_what_is_missing_is_no_zero(reader: Reader, site: Site) -> None:
    run = stored.finished(site.place, "with-zero")
    with site.place.database.write() as tx:
        of = (tables.scores.c.run == run, tables.scores.c.subject == "v1", tables.scores.c.split == "all")
        zero = {"mean": 0.0, "low": 0.0, "high": 0.009, "n": 400, "missing": 0}
        tx.execute(sa.update(tables.scores).where(*of, tables.scores.c.set == "dev").values(**zero))
        gone = (tables.scores.c.run == run, tables.scores.c.subject == "v2", tables.scores.c.set == "dev")
        tx.execute(sa.delete(tables.scores).where(*gone))
    reader.enter()
    table = reader.get(f"{RUNS}/{run}").text.partition('id="versions"')[2].partition("</table>")[0]
    rows = {row.partition("</th>")[0].rpartition(">")[2].strip()[:2]: row for row in table.split("<tr")[2:]}
    plain = {name: re.sub("<[^>]*>", "", row) for name, row in rows.items()}
    assert "0.000 [0.000, 0.009] n=400" in plain["v1"]
    assert "—" in plain["v2"] and "0.000" not in plain["v2"]


def test_aim_2753_a_list_of_a_thousand_runs_is_as_quick_as_one_of_thirty(another_site: Callable[..., Site]) -> None:
    readers = []
    for n in (30, 1000):
        site = another_site()
        stored.many(site.place, n)
        readers.append(Reader(site))
        readers[-1].enter()
    times: list[list[float]] = [[], []]
    for _ in range(9):  # by turns, so that a busy machine slows both alike
        for reader, taken in zip(readers, times, strict=True):
            begun = time.perf_counter()
            reader.get(RUNS)
            taken.append(time.perf_counter() - begun)
            assert reader.page.text.count('<tr id="run-') == 25
    for reader in readers:
        reader.client.close()
    assert statistics.median(times[1]) < 2 * statistics.median(times[0])


def test_prefect_18495_a_page_that_is_kept_up_to_date_costs_little(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    session = page.visitor.context.new_cdp_session(page.visitor.page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    page.polls()
    before = worked()
    for number in range(10):
        happen(site.place, run, f"entry {number}", round=6 + number % 2)
        page.polls()
        page.settle()
    assert (worked() - before) / 30 < 0.1  # processor seconds a second of looking, with a change at every poll


def test_spinnaker_4572_a_list_behind_another_tab_asks_nothing(visitor: Visitor, site: Site) -> None:
    stored.running(site.place, "listed-behind")
    visitor.enter()
    page = Watched(visitor, RUNS)
    visitor.hide()
    page.leap(3600)
    page.wait(11)
    assert page.asked == []
    visitor.hide(False)
    page.asks(1, RUNS)


def test_prefect_21084_no_data_of_one_run_under_the_name_of_another(watch: Watch, site: Site) -> None:
    one, other = (stored.running(site.place, name) for name in ("the-one", "the-other"))
    page = watch(one)
    held = []
    page.visitor.page.route("**/the-one/live?*", lambda route: held.append(route))
    happen(site.place, one, "only the one did this")
    page.leap(3.1)
    page.asks(1)
    assert len(held) == 1
    page.visitor.go(f"{RUNS}/{other}")
    page.visitor.page.clock.resume()
    page.visitor.page.unroute_all(behavior="ignoreErrors")
    page.visitor.until("document.documentElement.dataset.script")
    page.visitor.pause(0.2)
    assert page.visitor.at("h1").inner_text() == other
    assert "only the one did this" not in page.visitor.text
    assert f"/{one}/" not in page.visitor.ask("document.querySelector('main').dataset.live")


OUTSIDE = """
() => {
  for (const one of document.querySelectorAll('main details')) one.open = true;
  const found = [];
  const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const within = walk.currentNode.parentElement;
    if (!within.closest('time, script, style')) found.push(walk.currentNode.data);
  }
  return found.join('\\n');
}
"""
"""The words of a page's main part, also those in details and in pictures, without its times."""


def test_dagster_33956_every_time_on_every_page_is_in_one_zone(visit: Callable[..., Visitor], site: Site) -> None:
    runs = [stored.running(site.place, "zoned"), stored.finished(site.place, "zoned-finished")]
    visitor = visit(timezone_id="Asia/Shanghai")
    visitor.enter(("local", Role.ADMIN))
    shown = []
    for name in [*PAGES, *ADMINS, *(f"rsi/model-loops/{run}" for run in runs)]:
        visitor.go(f"{HERE}/{name}")
        visitor.until("document.documentElement.dataset.script")
        times = visitor.ask("[...document.querySelectorAll('main time')].map((one) => one.textContent)")
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+8", one) for one in times), (name, times)
        said = visitor.ask(OUTSIDE)
        assert not re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+|\b\d{1,2}:\d\d(?::\d\d)?\b|\bUTC\b", said), name
        shown += times
    assert len(shown) > 60
    tables = visitor.at("main [id^=picture-][id$=-table] td time")
    assert tables.count() > 20
    assert tables.first.get_attribute("title").endswith(" UTC")  # type: ignore[union-attr]


def test_temporalio_ui_2651_opened_rounds_stay_open(watch: Watch, site: Site, run: str) -> None:
    page = watch(run)
    rounds = page.visitor.at("#rounds details")
    for number in (0, 2):
        rounds.nth(number).locator("summary").first.click()
    names = page.visitor.ask("[...document.querySelectorAll('#rounds details[open]')].map((one) => one.id)")
    assert len(names) == 2
    for number in range(5):
        happen(site.place, run, f"entry {number}", round=6 + number)
        page.polls()
        page.settle()
    assert page.count("/board") == 5
    assert page.visitor.ask("[...document.querySelectorAll('#rounds details[open]')].map((one) => one.id)") == names


def stop(site: Site) -> None:
    site._server.should_exit = True
    site._thread.join(30)
    site._listening.__exit__(None, None, None)


def start(site: Site) -> None:
    """Serve the site anew, on the same port."""
    site._listening = listening.tcp_port("127.0.0.1", site.place.settings.port)
    listener = site._listening.__enter__()
    site._server = uvicorn.Server(configured(application(site.place), site.place.settings))
    site._thread = threading.Thread(target=site._server.run, args=([listener],), daemon=True)
    site.__enter__()


def test_argo_rollouts_3833_a_server_that_was_away_is_found_again(
    visit: Callable[..., Visitor], another_site: Callable[..., Site]
) -> None:
    site = another_site()
    run = stored.running(site.place, "restarted")
    visitor = visit(site)
    visitor.enter()
    visitor.expected.append("Failed to load resource")
    page = Watched(visitor, f"{RUNS}/{run}")
    page.polls()
    stop(site)
    page.polls(2)
    assert "The server does not answer. Next try at " in visitor.at(".notice").inner_text()
    assert visitor.page.get_by_role("button", name="Retry").is_visible()
    happen(site.place, run, "written while nobody served")
    start(site)
    page.polls(2)
    page.shows("written while nobody served")
    assert visitor.at(".notice").count() == 0


def test_argo_rollouts_1144_a_run_of_which_nothing_is_known_has_a_whole_page(watch: Watch, site: Site) -> None:
    run = stored.bare(site.place, "bare-for-peers")
    page = watch(run)
    happen(site.place, run, round=2)
    page.polls()
    page.settle()
    words = page.visitor.text
    assert page.visitor.at("h1").inner_text() == run
    for part in ("Loop progress", "Loop board", "Final gate", "—"):
        assert part in words
    assert "None" not in words and "undefined" not in words and "null" not in words


def test_wandb_5634_every_mean_has_its_interval_and_n(reader: Reader, site: Site) -> None:
    run = stored.finished(site.place, "spread")
    reader.enter()
    table = reader.get(f"{RUNS}/{run}").text.partition('id="versions"')[2].partition("</table>")[0]
    cells = [re.sub("<[^>]*>", "", one).strip() for one in re.findall(r'<td class="number">(.*?)</td>', table, re.S)]
    means = [one for one in cells if re.match(r"[01]\.\d{3}", one)]
    assert len(means) >= 5
    assert all(re.fullmatch(r"[01]\.\d{3} \[[01]\.\d{3}, [01]\.\d{3}\] n=[\d,]+(, .*)?", one) for one in means), means
