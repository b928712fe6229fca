"""Complaints about how other consoles keep a page up to date, each with the issue it was made in; none happens here."""

from __future__ import annotations

import threading
from collections.abc import Callable

import stored
import uvicorn
from browsing import Visitor
from happening import RUNS, Watched, happen
from visiting import Site

from everloop import listening
from everloop.server import application, configured

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
