"""Events and errors in the reader's language: fixed patterns are recognised exactly, other words stay as they are."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from everloop.language import ENGLISH, LANGUAGES
from everloop.language.happenings import EVENTS, happened
from everloop.language.refusals import PATTERNS, refusal

CHINESE = LANGUAGES["zh-CN"]
SOURCE = Path(__file__).parents[2] / "src"
VALUES = {"candidate": "r1c1", "decision": "rejected", "state": "completed", "kind": "rationale", "text": "any words"}


def written(pattern: str) -> str:
    """A text of the pattern."""
    return re.sub(r"%\((\w+)\)s", lambda found: VALUES.get(found[1], "7"), pattern)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("round 3 of 10 begins", "第 3 轮开始，共 10 轮"),
        ("stop requested: it acts after the current round", "已要求停止：当前轮结束后生效"),
        ("steer delivered: Prefer s3.", "引导消息已送达：Prefer s3."),
        ("job arith-r1c1-a1 completed after 12.5 s", "任务 arith-r1c1-a1 在 12.5 秒后已完成"),
        ("round 2: rejected. r2c1 rejected: nothing said so", "第 2 轮：已拒绝。r2c1 已拒绝：nothing said so"),
        ("run a paused: MODEL_UNAVAILABLE: away; resume goes on where it broke off",
         "运行 a 已暂停：MODEL_UNAVAILABLE: away；恢复后从中断处继续"),
        ("final gate: v2 confirmed against v0 on 400 blind items: 0.845 against 0.660; shown to beat the control arm "
         "(0.700)", "最终关卡：v2 在 400 道盲测题上确认优于 v0：0.845 对 0.660；已证明优于对照组（0.700）"),
    ],
)  # fmt: skip
def test_an_event_of_a_fixed_pattern_is_told_in_chinese(english: str, chinese: str) -> None:
    assert happened(CHINESE, english) == chinese


@pytest.mark.parametrize(
    "text",
    [
        "r1c1: Train on verified samples.",
        "round and round it goes",
        "The round 3 of 10 begins",
        "round 3 of 10 begins ",
        "run a finished early",
        "100 % sure: %(text)s",
        "",
        "read_failures(family='s3')",
    ],
)
def test_what_somebody_wrote_is_left_alone(text: str) -> None:
    assert happened(CHINESE, text) == text
    assert refusal(CHINESE, text) == text


def test_words_within_a_pattern_are_no_pattern_themselves() -> None:
    assert happened(CHINESE, "steer queued: %(n)s of 100 %s") == "引导消息已排队：%(n)s of 100 %s"


@pytest.mark.parametrize("pattern", EVENTS)
def test_every_pattern_of_events_recognises_its_texts(pattern: str) -> None:
    text = written(pattern)
    assert happened(ENGLISH, text) == text
    assert re.search("[一-鿿]", happened(CHINESE, text))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_of_errors_recognises_its_texts(pattern: str) -> None:
    assert re.search("[一-鿿]", refusal(CHINESE, written(pattern)))


def pieces() -> Iterator[str]:
    """The texts of the code, each placeholder of an f-string as a zero byte."""
    for file in SOURCE.rglob("*.py"):
        if file.parent.name != "language":
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                    yield "".join(map(str, parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


JOINTS = re.compile(r"[:;,] | \(|(?<= is )(?=a prompt|trained)|(?<=confirmed)(?= against)|^v0(?= is )|^ (?=NOT)")
"""Where the code puts a text together of several."""


def test_the_patterns_are_those_of_the_code() -> None:
    code = "\n".join(pieces())
    fixed = {one for pattern in (*EVENTS, *PATTERNS) for one in re.split(r"%\(\w+\)s", pattern)}
    assert [one for one in sorted(fixed) if not all(word in code for word in JOINTS.split(one))] == []


@pytest.mark.parametrize(
    "text",
    [
        "approval " + " of " * 1000 + " by ",
        "run a paused: " + "; resume goes on" * 250,
        "r1c1 not shown to beat " + "(" * 4000,
        "x" * 4000,
        "; shown to beat the control arm (" * 120,
        "round 1: kept. " * 260,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    happened(CHINESE, text)
    assert time.process_time() - begun < 0.1
