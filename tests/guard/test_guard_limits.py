from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.errors import InvalidRequest
from everloop.guard.limits import Goal, Limits, Stop

COUNTS = {
    "diag_per_family": 64,
    "dev_n": 400,
    "dev_use_cap": 20,
    "collect_tasks": 250,
    "collect_k": 4,
    "admission_n": 100,
    "max_rows_per_family": 1000,
    "eval_limit": 4000,
    "blind_n": 2000,
    "calib_n": 100,
}
CAPS = ["usd_cap", "model_request_cap", "student_request_cap", "request_cap"]


def test_defaults_and_every_limit_in_force() -> None:
    assert Limits.from_json({"model_usd_cap": 5}).to_json() == {"model_usd_cap": 5.0, **dict.fromkeys(CAPS), **COUNTS}


@pytest.mark.parametrize("name", [*COUNTS, *CAPS])
def test_every_key_is_read(name: str) -> None:
    assert Limits.from_json({"model_usd_cap": 5, name: 7}).to_json()[name] == 7


@pytest.mark.parametrize("name", ["model_usd_cap", *COUNTS, *CAPS])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "5", [], {}, 10**400, -(10**400), 1e300])
def test_bad_values_name_the_field(name: str, value: object) -> None:
    if value == 1e300 and name in {"model_usd_cap", "usd_cap"}:  # finite dollars are fine
        return
    with pytest.raises(InvalidRequest, match=f"limits.{name}"):
        Limits.from_json({"model_usd_cap": 5, name: value})  # type: ignore[dict-item] # wrong on purpose


@pytest.mark.parametrize("name", [*COUNTS, "request_cap"])
def test_counts_are_whole(name: str) -> None:
    with pytest.raises(InvalidRequest, match="whole number"):
        Limits.from_json({"model_usd_cap": 5, name: 1.5})
    assert Limits.from_json({"model_usd_cap": 5, name: 3.0}).to_json()[name] == 3


def test_null_is_no_cap_for_caps_only() -> None:
    assert Limits.from_json({"model_usd_cap": 5, "usd_cap": None}).usd_cap is None
    with pytest.raises(InvalidRequest, match=r"limits\.dev_n"):
        Limits.from_json({"model_usd_cap": 5, "dev_n": None})


@pytest.mark.parametrize("document", [{}, {"model_usd_cap": None}])
def test_the_model_cap_is_required(document: dict[str, None]) -> None:
    with pytest.raises(InvalidRequest, match="model_usd_cap is missing"):
        Limits.from_json(document)  # type: ignore[arg-type]


def test_unknown_keys_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match=r"limits\.blnd_n is not known: known: model_usd_cap, .*blind_n"):
        Limits.from_json({"model_usd_cap": 5, "blnd_n": 3})


@pytest.mark.parametrize("document", [None, 5, "x", []])
def test_not_an_object(document: object) -> None:
    for kind, name in ((Limits, "limits"), (Goal, "goal"), (Stop, "stop")):
        with pytest.raises(InvalidRequest, match=f"{name} must be an object"):
            kind.from_json(document)  # type: ignore[arg-type]


@given(st.dictionaries(st.sampled_from(sorted(COUNTS)), st.integers(1, 2**53)), st.floats(0.01, 1e9))
def test_law_a_round_trip_changes_nothing(counts: dict[str, int], cap: float) -> None:
    limits = Limits.from_json({"model_usd_cap": cap, **counts})
    assert Limits.from_json(limits.to_json()) == limits


def test_goal() -> None:
    assert Goal.from_json({"split": "add3", "target": 1}).to_json() == {"split": "add3", "target": 1.0}
    bad: list[dict[str, object]] = [
        {},
        {"split": "a"},
        {"split": "", "target": 0.5},
        {"split": 3, "target": 0.5},
        {"split": "a", "target": 0},
        {"split": "a", "target": 1.01},
        {"split": "a", "target": True},
        {"split": "a", "target": 0.5, "x": 1},
    ]
    for document in bad:
        with pytest.raises(InvalidRequest, match="goal"):
            Goal.from_json(document)  # type: ignore[arg-type] # wrong on purpose


def test_stop() -> None:
    assert Stop.from_json({}) == Stop(None, None)
    assert Stop.from_json({"wall_seconds": 60, "patience": 3}).to_json() == {"wall_seconds": 60.0, "patience": 3}
    for bad in ({"wall_seconds": 0}, {"patience": 1.5}, {"patience": False}, {"wall_seconds": math.nan}, {"rounds": 3}):
        with pytest.raises(InvalidRequest, match=f"stop.{next(iter(bad))}"):
            Stop.from_json(bad)  # type: ignore[arg-type]
