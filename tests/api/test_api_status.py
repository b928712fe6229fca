"""Health, readiness, figures."""

from __future__ import annotations

import pytest
from calling import Api
from prometheus_client.parser import text_string_to_metric_families

from everloop import __version__
from everloop.service import figures
from everloop.store import workers


def test_health_looks_at_nothing_but_the_process(api: Api) -> None:
    assert api.get("/healthz").json == {"status": "ok", "version": __version__}


def test_readiness_tells_the_workers_there_are(api: Api) -> None:
    assert api.get("/readyz").json == {"status": "ready", "workers": 0}
    with api.place.database.write() as tx:
        workers.register(tx, "h", 1)
        gone = workers.register(tx, "h", 2)
        workers.fence(tx, gone, None)
    assert api.get("/readyz").json["workers"] == 1


def test_figures_are_in_prometheus_format(api: Api) -> None:
    start = {"run": "r-1", "brief": "x", "limits": {"model_usd_cap": 1}, "domain": "synthetic"}
    api.post("/v1/agent-runs/rsi/runs", key=api.key(), json=start)
    answer = api.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    requests = {tuple(one.labels.values()): one.value for one in families["everloop_requests"].samples}
    assert requests["POST", "/agent-runs/rsi/runs", "201"] == 1
    assert [(one.labels, one.value) for one in families["everloop_runs"].samples] == [({"state": "starting"}, 1)]


def test_addresses_do_not_become_series(api: Api) -> None:
    for number in range(20):
        api.get(f"/v1/agent-runs/rsi/runs/run-{number}", key=api.key())
        api.get(f"/nothing-{number}")
    lines = [line for line in api.get("/metrics").text.splitlines() if line.startswith("everloop_requests_total")]
    assert len(lines) == 2
    assert not any("run-1" in line or "nothing" in line for line in lines)


def test_figures_are_for_this_machine_or_a_key_that_reads(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everloop.api.routes_status.LOOPBACK", frozenset())
    assert api.get("/metrics").status == 401
    assert api.get("/metrics", key=api.key()).status == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_behind_a_proxy_nobody_is_this_machine(api: Api, header: str) -> None:
    assert api.get("/metrics", headers={header: "for=192.0.2.1"}).status == 401


def test_figures_count_what_there_is(api: Api) -> None:
    assert figures.of(api.place) == figures.Figures({}, {}, 0)
