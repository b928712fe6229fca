"""Every fault of an endpoint, on both wires, streamed and not: survived or reported, and charged exactly."""

from __future__ import annotations

import logging
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from lines import ANSWERED, CALM, KEY, QUICK, WIRES, faults, rig
from scripted import Reply

from everloop.errors import ModelRefused, ModelUnavailable
from everloop.gateway.limits import GatewayLimits

pytestmark = pytest.mark.parametrize("wire", WIRES)
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

UNBILLED = [("429",), ("429", "409"), ("500", "503")]
AMBIGUOUS = ["reset", "hang", "malformed", "408", "502", "504", "524"]
"""The model may have done the work, or something between us and it does not know."""


def patience(fault: str) -> GatewayLimits:
    """A short deadline only where it is what ends the attempt."""
    return QUICK if fault in {"hang", "drip"} else CALM


@both
@pytest.mark.parametrize("before", UNBILLED, ids=lambda faults: "-".join(faults))
def test_status_that_may_pass_is_retried_and_costs_nothing(wire: str, stream: bool, before: tuple[str, ...]) -> None:
    with rig(faults(*before, Reply("done")), wire, CALM) as it:
        assert it.ask(stream=stream) == "done"
        assert it.money == (ANSWERED, 0, len(before) + 1)
        assert len(it.server.requests) == len(before) + 1


@both
@pytest.mark.parametrize("fault", AMBIGUOUS)
def test_attempt_of_unknown_outcome_is_charged_its_worst_and_retried(wire: str, stream: bool, fault: str) -> None:
    with rig(faults(fault, Reply("done")), wire, patience(fault)) as it:
        assert it.ask(stream=stream) == "done"
        assert it.money == (it.worst + ANSWERED, 0, 2)


@pytest.mark.parametrize("fault", ["cut", "drip"])
def test_answer_that_breaks_off_is_charged_its_worst_and_retried(wire: str, fault: str) -> None:
    with rig(faults(fault, Reply("done")), wire, patience(fault)) as it:
        assert it.ask() == "done"
        assert it.money == (it.worst + ANSWERED, 0, 2)


@both
@pytest.mark.parametrize("fault", ["429", "500", "reset", "hang", "malformed"])
def test_retries_end(wire: str, stream: bool, fault: str) -> None:
    with rig(faults(fault), wire, patience(fault)) as it:
        with pytest.raises(ModelUnavailable, match="3 attempts"):
            it.ask(stream=stream)
        assert len(it.server.requests) == 3
        assert it.money == (0 if fault.isdigit() else 3 * it.worst, 0, 3)


@both
@pytest.mark.parametrize("status", ["400", "401", "404"])
def test_refusal_is_reported_at_once(wire: str, stream: bool, status: str) -> None:
    with rig(faults(status), wire, CALM) as it:
        with pytest.raises(ModelRefused, match=f"HTTP {status}: scripted {status}"):
            it.ask(stream=stream)
        assert it.money == (0, 0, 1)


@both
@pytest.mark.parametrize("header", ["0", "in a moment"])
def test_short_retry_after_is_waited_for(wire: str, stream: bool, header: str) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=0.5), usegmt=True)
    value = moment if header == "in a moment" else header
    with rig(faults(Reply(fault="429", retry_after=value), Reply("done")), wire, CALM) as it:
        assert it.ask(stream=stream) == "done"
        assert it.money == (ANSWERED, 0, 2)


def test_retry_after_is_not_cut_short(wire: str) -> None:
    begun = datetime.now(UTC)
    with rig(faults(Reply(fault="429", retry_after="1"), Reply("done")), wire, CALM) as it:
        assert it.ask() == "done"
    assert datetime.now(UTC) - begun > timedelta(seconds=1)


@both
def test_long_retry_after_is_reported_at_once(wire: str, stream: bool) -> None:
    with rig(faults(Reply(fault="429", retry_after="300")), wire, CALM) as it:
        with pytest.raises(ModelUnavailable, match="300 s"):
            it.ask(stream=stream)
        assert it.money == (0, 0, 1)


@both
def test_endpoint_that_is_not_there_costs_no_request(wire: str, stream: bool) -> None:
    with rig(wire=wire, limits=GatewayLimits(retries=1, backoff_seconds=0.01)) as it:
        it.change(base_url="http://127.0.0.1:9/v1")
        with pytest.raises(ModelUnavailable, match="no connection"):
            it.ask(stream=stream)
        assert it.money == (0, 0, 0)


def test_name_that_does_not_resolve_costs_no_request(wire: str) -> None:
    with rig(wire=wire) as it:
        it.change(base_url="http://no-such-host.invalid/v1")
        with pytest.raises(ModelUnavailable, match="no connection"):
            it.ask()
        assert it.money == (0, 0, 0)


def test_answer_without_usage_is_charged_its_worst(wire: str) -> None:
    with rig(lambda _: Reply("done", input_tokens=0, output_tokens=0), wire, CALM) as it:
        assert it.ask() == "done"
        assert it.money == (it.worst, 0, 1)


def test_streamed_answer_without_usage_is_charged_its_worst(wire: str) -> None:
    with rig(lambda _: Reply("done", input_tokens=0, output_tokens=0), wire, CALM) as it:
        assert it.ask(stream=True) == "done"
        assert it.money == (it.worst, 0, 1)


@both
@pytest.mark.parametrize("fault", ["401", "500", "reset", "cut"])
def test_key_is_in_no_error_and_no_log(wire: str, stream: bool, fault: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with rig(faults(fault), wire, GatewayLimits(deadline_seconds=0.2, retries=0)) as it:
        with pytest.raises((ModelRefused, ModelUnavailable)) as caught:
            it.ask("a secret plan", stream=stream)
        sent = it.server.requests[0].headers
    assert KEY in (sent.get("authorization", "") + sent.get("x-api-key", ""))
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert "a secret plan" not in str(caught.value)
    assert KEY not in caplog.text


def test_key_that_the_endpoint_repeats_is_hidden(wire: str) -> None:
    from everloop.gateway.failure import _words

    assert _words({"error": {"message": f"wrong key {KEY}, or sk-ab*****yz"}}, KEY) == "wrong key [key], or [key]"
    assert len(_words({"message": "x" * 900}, KEY)) == 200


def test_retries_of_the_sdk_are_off(wire: str) -> None:
    with rig(faults("503"), wire, GatewayLimits(retries=0)) as it:
        with pytest.raises(ModelUnavailable):
            it.ask()
        assert len(it.server.requests) == 1


def test_deadline_is_for_the_whole_attempt(wire: str) -> None:
    limits = GatewayLimits(deadline_seconds=0.3, retries=0)
    with rig(faults("drip"), wire, limits) as it:
        begun = datetime.now(UTC)
        with pytest.raises(ModelUnavailable, match=r"within 0\.3 s"):
            it.ask()
        assert datetime.now(UTC) - begun < timedelta(seconds=2)
    assert QUICK.deadline_seconds < 1
