"""Complaints about what other consoles show of values, each with the issue it was made in; none happens here."""

from __future__ import annotations

import re
from collections.abc import Callable

import sqlalchemy as sa
import stored
from browsing import Visitor
from happening import ADMINS, HERE, PAGES, RUNS, Watched, happen
from visiting import Reader, Site

from everloop.service.permissions import Role
from everloop.store import tables

Watch = Callable[[str], Watched]


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


def test_mlflow_9779_the_status_stands_before_every_picture(reader: Reader, site: Site) -> None:
    run = stored.finished(site.place, "status-first")
    reader.enter()
    page = reader.get(f"{RUNS}/{run}").text
    assert 0 < page.index('id="state"') < page.index('id="progress"') < page.index("<svg")


def test_kubestellar_13512_without_a_worker_it_does_not_say_that_all_is_well(
    another_site: Callable[..., Site],
) -> None:
    site = another_site()
    stored.running(site.place, "unknown")
    reader = Reader(site)
    reader.enter()
    for name in ("overview", "rsi/model-loops"):
        reader.get(f"{HERE}/{name}")
        assert "Not connected." in reader.text
    reader.client.close()
