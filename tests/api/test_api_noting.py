"""What is recorded of requests: every change, every refusal; nothing of a flood."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from calling import Api

from everloop.api.noting import Noting
from everloop.events import Json
from everloop.service import audit
from everloop.service.caller import LOCAL
from everloop.service.permissions import KeyKind

ROOT = "/v1/agent-runs/rsi/runs"
START = {"run": "r-1", "brief": "x", "limits": {"model_usd_cap": 1}, "domain": "synthetic"}


def recorded(api: Api) -> list[Json]:
    return list(reversed(audit.pages(api.place, LOCAL, 100, None).items))


def test_a_change_is_recorded_with_who_what_and_how_it_ended(api: Api) -> None:
    api.post(ROOT, key=api.key(), json=START, headers={"X-Request-ID": "q-1"})
    api.post(ROOT, key=api.key(), json=START)
    one, two = recorded(api)[-2:]
    assert str(one["subject"]).startswith("key:")
    assert (one["surface"], one["action"], one["status"]) == ("rest", "POST /agent-runs/rsi/runs", 201)
    assert (one["project_id"], one["request_id"], one["address"]) == ("local", "q-1", "127.0.0.1")
    assert (two["status"], two["code"]) == (409, "RSI_CONFLICT")


def test_a_look_is_not_recorded(api: Api) -> None:
    before = len(recorded(api))
    assert api.get(ROOT, key=api.key()).status == 200
    assert len(recorded(api)) == before


def test_a_refused_permission_is_recorded(api: Api) -> None:
    api.post(ROOT, key=api.key(KeyKind.READ_ONLY), json=START)
    last = recorded(api)[-1]
    assert (last["status"], last["code"]) == (403, "ACCESS_DENIED")


def test_a_refused_key_is_recorded_without_the_key(api: Api) -> None:
    secret = "elk_0123456789ab_do-not-write-this-down"
    api.get(ROOT, key=secret)
    last = recorded(api)[-1]
    assert (last["status"], last["subject"]) == (401, None)
    assert "write-this-down" not in str(recorded(api))


def test_a_flood_of_strangers_fills_no_log(api: Api) -> None:
    before = len(recorded(api))
    for _ in range(30):
        api.get(ROOT)
    assert len(recorded(api)) == before + 1


@pytest.mark.parametrize(
    ("path", "content"),
    [("/v1/nothing/i", b"{}"), ("/v1/auth/cli/start", b"{"), ("/v1/auth/cli/cancel", b"{}"), ("/sign-in", b"x")],
)
def test_a_flood_of_strangers_that_would_change_something_fills_no_log(api: Api, path: str, content: bytes) -> None:
    before = len(recorded(api))
    statuses = {api.post(path, content=content).status for _ in range(30)}
    assert len(recorded(api)) == before + len(statuses)


def test_what_strangers_may_do_fills_no_log(tmp_path: Path) -> None:
    with Api(tmp_path / "few", api_requests_per_minute=100) as few:
        noting = Noting(few.place, few.app.state.rates, few.app.state.metrics)
        scope = {"method": "POST", "path": "/sign-in", "client": ("192.0.2.1", 1), "state": {}}
        before = len(recorded(few))
        for _ in range(30):
            anyio.run(noting, scope, 303, 0.0)
        assert len(recorded(few)) == before + 10


def test_a_flood_of_one_key_is_recorded_once(tmp_path: Path) -> None:
    with Api(tmp_path / "few", api_requests_per_minute=3) as few:
        statuses = [few.get(ROOT, key=few.key()).status for _ in range(20)]
        assert statuses.count(429) == 17
        assert [one["status"] for one in recorded(few)].count(429) == 1


@pytest.mark.parametrize("path", ["/healthz", "/nothing"])
def test_what_needs_no_key_is_not_recorded(api: Api, path: str) -> None:
    before = len(recorded(api))
    api.get(path)
    assert len(recorded(api)) == before
