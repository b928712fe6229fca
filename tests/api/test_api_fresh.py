"""Entity tags: the same while nothing changed, another after every kind of change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calling import Api

from everloop.api.fresh import KEPT, LARGE, Rendered
from everloop.events import Event, EventKind
from everloop.ledger import reservations
from everloop.service import run_control, run_messages
from everloop.service.permissions import KeyKind
from everloop.store import events, jobs, looks, steers
from everloop.store.looks import Look

LIVE = "/v1/agent-runs/rsi/runs/r-1/live"
DETAIL = "/v1/agent-runs/rsi/runs/r-1"
HISTORY = "/v1/agent-runs/rsi/runs/r-1/history"
START = {"run": "r-1", "brief": "x", "limits": {"model_usd_cap": 1}, "domain": "synthetic"}


def job(api: Api, **columns: object) -> None:
    with api.place.database.write() as tx:
        if not columns:
            jobs.put(
                tx,
                "r-1",
                "base-a1",
                round=0,
                purpose="base",
                method="sft",
                labels={},
                digest="d",
                launcher="local",
                reserved_micros=0,
            )
        else:
            jobs.update(tx, "r-1", "base-a1", **columns)


def spend(api: Api) -> None:
    with api.place.database.write() as tx:
        reservations.reserve(tx, "r-1", "k", model_micros=100)


def settle(api: Api) -> None:
    with api.place.database.write() as tx:
        reservations.settle(tx, "r-1", "k", model_micros=100)


def delivered(api: Api) -> None:
    with api.place.database.write() as tx:
        steers.mark_delivered(tx, "r-1", [one.id for one in steers.queued(tx, "r-1")], 1)


def told(api: Api) -> None:
    with api.place.database.write() as tx:
        events.append(tx, "r-1", Event(EventKind.MESSAGE, "something"))


def looked(api: Api) -> None:
    seen = {"candidate": "r1c1", "round": 1, "against": "v0", "wins": 9, "losses": 1, "ruling": "more"}
    with api.place.database.write() as tx:
        looks.put(tx, "r-1", Look(pairs=40, log_e=1.5, futility=-1.0, threshold=5.3, **seen))


CHANGES: list[Callable[[Api], object]] = [
    told,
    looked,
    spend,
    settle,
    lambda api: run_messages.steer(api.place, "r-1", "look"),
    delivered,
    job,
    lambda api: job(api, state="completed"),
    lambda api: run_messages.add_directive(api.place, "r-1", "keep"),
    lambda api: run_control.extend(api.place, "r-1", 5),
    lambda api: run_control.stop(api.place, "r-1"),
]


@pytest.fixture
def started(api: Api) -> Api:
    assert api.post("/v1/agent-runs/rsi/runs", key=api.key(), json=START).status == 201
    return api


@pytest.mark.parametrize("path", [LIVE, f"{LIVE}?since=1", HISTORY, DETAIL, f"{DETAIL}?compact=true"])
def test_a_reader_that_is_up_to_date_gets_no_body(started: Api, path: str) -> None:
    first = started.get(path, key=started.key())
    again = started.get(path, key=started.key(), headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "no-cache" in again.headers["cache-control"]


@pytest.mark.parametrize("path", [LIVE, DETAIL, HISTORY])
def test_every_change_gives_another_tag_and_another_document(started: Api, path: str) -> None:
    tags = [started.get(path, key=started.key()).headers["etag"]]
    for change in CHANGES:
        change(started)
        now = started.get(path, key=started.key(), headers={"If-None-Match": tags[-1]})
        assert now.status == 200
        tags.append(now.headers["etag"])
    assert len(set(tags)) == len(tags)


def test_another_cursor_is_another_answer(started: Api) -> None:
    tag = started.get(LIVE, key=started.key()).headers["etag"]
    assert started.get(f"{LIVE}?since=0", key=started.key(), headers={"If-None-Match": tag}).status == 200


def test_a_tag_opens_no_run_of_another_project(started: Api) -> None:
    tag = started.get(LIVE, key=started.key()).headers["etag"]
    foreign = started.key(KeyKind.READ_ONLY, project=started.project("other"))
    for sent in ({}, {"If-None-Match": tag}, {"If-None-Match": "*"}):
        assert started.get(LIVE, key=foreign, headers=sent).status == 404


def test_rendered_answers_are_bounded_in_number_and_size() -> None:
    kept = Rendered()
    for number in range(KEPT + 1):
        kept.put(str(number), b"x")
    assert kept.get("0") is None
    assert kept.get(str(KEPT)) == b"x"
    kept.put("large", b"x" * (LARGE + 1))
    assert kept.get("large") is None
