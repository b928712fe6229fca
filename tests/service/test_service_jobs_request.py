"""A train job's request: what is refused, with which code, and what is kept of one that is not."""

from __future__ import annotations

from typing import Any

import pytest
from submitting import request, rows

from everloop.errors import InvalidRequestId, InvalidTrainJobMetadata, InvalidTrainJobSpec
from everloop.service.job_request import TrainJobRequest

ROW = {"family": "f", "prompt": "1+1=", "completion": "2"}
SPEC: list[Any] = [
    None, [], "text", {}, {"type": "train"}, {"spec": []},
    request(type="agent"), request(zzz=1), request(spec_zzz=1),
    request(spec_base_model="Qwen/Qwen3.8-27B"), request(spec_base_model=None), request(spec_base_model=["nano"]),
    request(spec_base_model="synthetic"),
    {"type": "train", "request_id": "x", "trials": [{"name": "trial-1", "spec": {"runner": "a/b@main"}}]},
    request(runner="a/b@main"),
    request(spec_rows=[]), request(spec_rows=None), request(spec_rows={}), request(spec_rows=["text"]),
    request(spec_rows=[{**ROW, "zzz": 1}]), request(spec_rows=[{"family": "f", "prompt": "1+1="}]),
    request(spec_rows=[{**ROW, "prompt": ""}]), request(spec_rows=[{**ROW, "completion": 2}]),
    request(spec_rows=[{**ROW, "prompt": "\ud800"}]),
    *(request(spec_rows=[{**ROW, "weight": weight}]) for weight in (0, -1, True, "1", float("nan"), 10**400)),
    *(request(spec_steps=steps) for steps in (0, -1, 100_001, 1.5, "20", True)),
    *(request(spec_batch_size=size) for size in (0, 4097, None)),
    *(request(spec_learning_rate=rate) for rate in (0, -1, 1.1, float("inf"), float("nan"), "x", True)),
    *(request(spec_seed=seed) for seed in (-1, 2**31, 1.5)),
    *(request(spec_parent=parent) for parent in ("/etc/passwd", 7, "envloop://" + "a" * 200)),
]  # fmt: skip
METADATA: list[Any] = [
    request(labels=[]), request(labels={"a": None}), request(labels={"a": {}}), request(labels={"a": 1.5}),
    request(labels={"": "x"}), request(labels={"a": "x" * 257}), request(labels={"a" * 65: "x"}),
    request(labels={"a": "line\nline"}), request(labels={"a": "\x1b[2J"}), request(labels={"a": "\0"}),
    request(labels={f"k{n}": "x" for n in range(65)}), request(spec_labels={"a": True}),
    request(user_metadata={"a": "\ud800"}), request(labels={"a": 2**60}),
    request(labels={"a": "1"}, spec_labels={"a": "2"}),
]  # fmt: skip


@pytest.mark.parametrize("document", SPEC, ids=range(len(SPEC)))
def test_what_cannot_be_carried_out_is_refused(document: Any) -> None:
    with pytest.raises(InvalidTrainJobSpec) as refused:
        TrainJobRequest.from_json(document)
    assert (refused.value.code, refused.value.status) == ("INVALID_TRAIN_JOB_SPEC", 422)


@pytest.mark.parametrize("document", METADATA, ids=range(len(METADATA)))
def test_labels_that_are_no_short_texts_are_refused(document: Any) -> None:
    with pytest.raises(InvalidTrainJobMetadata):
        TrainJobRequest.from_json(document)


@pytest.mark.parametrize("request_id", ["", "x" * 129, 7, "a\nb", "\0", []])
def test_a_request_id_is_1_to_128_printable_characters(request_id: Any) -> None:
    with pytest.raises(InvalidRequestId):
        TrainJobRequest.from_json(request(request_id=request_id))


def test_a_refusal_is_short_whatever_was_sent() -> None:
    for document in (request(spec_base_model="x" * 10_000), request(**{"y" * 10_000: 1})):
        with pytest.raises(InvalidTrainJobSpec) as refused:
            TrainJobRequest.from_json(document)
        assert len(refused.value.message) < 1000


def test_settings_that_are_not_named_are_the_trainers_own() -> None:
    asked = TrainJobRequest.from_json({"spec": {"base_model": "nano", "rows": rows(2)}})
    assert (asked.settings.steps, asked.settings.batch_size, asked.settings.learning_rate) == (500, 128, 3e-3)
    assert asked.seed == 0 and asked.request_id is None


def test_labels_in_both_places_are_put_together() -> None:
    asked = TrainJobRequest.from_json(request(labels={"rsi_run": "r", "a": 1}, spec_labels={"b": "2", "a": 1}))
    assert asked.labels == {"rsi_run": "r", "a": 1, "b": "2"} and asked.label_run == "r"


def test_a_weight_that_is_spelled_out_is_the_same_request() -> None:
    plain = TrainJobRequest.from_json(request(spec_rows=[ROW]))
    spelled = TrainJobRequest.from_json(request(spec_rows=[{**ROW, "weight": 1}]))
    assert plain.digest() == spelled.digest() and b'"weight": 1.0' in plain.rows


def test_a_whole_number_is_one_however_json_spells_it() -> None:
    assert TrainJobRequest.from_json(request(spec_steps=20.0)).digest() == TrainJobRequest.from_json(request()).digest()
