"""What is recorded of requests: every change, every refusal; nothing of a flood."""

from __future__ import annotations

import pytest
from calling import Api

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


@pytest.mark.parametrize("path", ["/healthz", "/nothing"])
def test_what_needs_no_key_is_not_recorded(api: Api, path: str) -> None:
    before = len(recorded(api))
    api.get(path)
    assert len(recorded(api)) == before
