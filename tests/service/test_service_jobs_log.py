"""Pages of a job's log: one sequence, whoever reads it in what steps, while it grows and whatever was written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from submitting import ALICE, put, row

from everloop.errors import InvalidCursor, InvalidLimit, InvalidRequest
from everloop.paths import JobPaths
from everloop.service import jobs, log_lines
from everloop.service.installation import Installation, open_installation
from everloop.service.job_log import safe
from everloop.settings import Settings
from everloop.store import jobs as stored


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    opened = open_installation(Settings(home=tmp_path / "home"))
    yield opened
    opened.close()


def running(place: Installation, text: bytes = b"") -> tuple[str, JobPaths]:
    """A job that has started and written `text`."""
    (job_id,) = put(place, state="running", host="here")
    paths = place.home.job(job_id)
    paths.root.mkdir(parents=True)
    paths.keeper.write_text(json.dumps({"pid": 1, "at": 1_700_000_000.0}))
    paths.log.write_bytes(text)
    return job_id, paths


def end(place: Installation, job_id: str, state: str = "completed") -> None:
    with place.database.write() as tx:
        stored.end(tx, job_id, state, seconds=2.0, reason=None, returncode=0)


def follow(place: Installation, job_id: str, **asked: Any) -> list[dict[str, Any]]:
    """Everything there is now, page by page, as a client follows it."""
    page: dict[str, Any] = dict(jobs.logs(place, job_id, ALICE, **asked))
    found = list(page["items"])
    more = {name: value for name, value in asked.items() if name != "tail"}
    while page["has_more"]:
        before = page["next_cursor"]
        page = dict(jobs.logs(place, job_id, ALICE, **more, cursor=before))
        assert page["next_cursor"] != before, "a page with more must bring one further"
        found += page["items"]
    return found


def texts(items: list[dict[str, Any]]) -> list[str]:
    return [str(one["content"]) for one in items if one["source"] == "runtime"]


@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_the_whole_log_is_told_once_and_in_order_in_steps_of_any_size(place: Installation, limit: int) -> None:
    job_id, _ = running(place, b"".join(b"line %d\n" % n for n in range(7)))
    end(place, job_id)
    found = follow(place, job_id, limit=limit)
    assert [one.get("phase") for one in found] == ["accepted", "started", *[None] * 7, "ended"]
    assert texts(found) == [f"line {n}" for n in range(7)] and len({one["id"] for one in found}) == 10
    page = jobs.logs(place, job_id, ALICE)
    assert (page["eof"], page["has_more"]) == (True, False) and page["next_cursor"]


def test_a_follower_sees_what_is_written_later_and_nothing_twice(place: Installation) -> None:
    job_id, paths = running(place, b"one\nhal")
    first = jobs.logs(place, job_id, ALICE)
    assert isinstance(first["items"], list) and len(first["items"]) == 3
    assert (first["eof"], first["has_more"]) == (False, False) and first["next_cursor"]
    with paths.log.open("ab") as log:
        log.write(b"f\nlast words")
    second = jobs.logs(place, job_id, ALICE, cursor=str(first["next_cursor"]))
    assert isinstance(second["items"], list) and texts(second["items"]) == ["half"]  # type: ignore[arg-type]
    end(place, job_id)
    third = jobs.logs(place, job_id, ALICE, cursor=str(second["next_cursor"]))
    assert isinstance(third["items"], list) and third["eof"]
    assert texts(third["items"]) == ["last words"] and third["items"][-1]["phase"] == "ended"  # type: ignore
    again = jobs.logs(place, job_id, ALICE, cursor=str(third["next_cursor"]))
    assert again["items"] == [] and again["eof"]


@pytest.mark.parametrize(("tail", "phases", "lines"), [
    (1, ["ended"], []), (3, ["ended"], ["line 5", "line 6"]),
    (9, ["started", "ended"], [f"line {n}" for n in range(7)]),
    (10, ["accepted", "started", "ended"], [f"line {n}" for n in range(7)]),
    (1000, ["accepted", "started", "ended"], [f"line {n}" for n in range(7)]),
])  # fmt: skip
def test_a_tail_begins_so_many_lines_before_the_end(
    place: Installation, tail: int, phases: list[str], lines: list[str]
) -> None:
    job_id, _ = running(place, b"".join(b"line %d\n" % n for n in range(7)))
    end(place, job_id)
    for limit in (1, 1000):
        found = follow(place, job_id, tail=tail, limit=limit)
        assert [one["phase"] for one in found if one["source"] == "system"] == phases and texts(found) == lines


@pytest.mark.parametrize("source", ["system", "runtime"])
def test_a_source_alone_is_told_alone_and_ends_too(place: Installation, source: str) -> None:
    job_id, _ = running(place, b"one\ntwo\n")
    end(place, job_id)
    for limit in (1, 10):
        found = follow(place, job_id, source=source, limit=limit)
        assert {one["source"] for one in found} == {source} and len(found) == (3 if source == "system" else 2)
    assert jobs.logs(place, job_id, ALICE, source=source)["eof"]


def test_a_waiting_job_was_accepted_and_is_not_at_its_end(place: Installation) -> None:
    (job_id,) = put(place)
    page = jobs.logs(place, job_id, ALICE)
    assert isinstance(page["items"], list) and len(page["items"]) == 1 and not page["eof"] and page["next_cursor"]


def test_what_a_job_writes_cannot_act_on_a_terminal(place: Installation) -> None:
    job_id, _ = running(place, b"\x1b]0;title\x07\x1b[2Jred\r\xff\xfe \xe2\x80\xae rtl \x9b1m\n\ta tab\n\0\n")
    end(place, job_id)
    for text in texts(follow(place, job_id)):
        assert all(letter == "\t" or letter.isprintable() for letter in text)
    assert texts(follow(place, job_id))[1:] == ["\ta tab", "\\x00"]


@pytest.mark.parametrize(("text", "told"), [
    ("plain, ünïcode 漢字", "plain, ünïcode 漢字"), ("\ud800", "\\ud800"),
    ("a\x1bb", "a\\x1bb"), ("\u202e", "\\u202e"),
    ("\u2028", "\\u2028"), ("\r", "\\r"),
])  # fmt: skip
def test_a_character_that_is_not_shown_has_its_name(text: str, told: str) -> None:
    assert safe(text) == told


def test_a_line_without_end_comes_in_pieces_that_cut_no_letter(place: Installation) -> None:
    line = "é漢😀" * 9_000
    job_id, _ = running(place, line.encode())
    end(place, job_id)
    found = texts(follow(place, job_id, limit=2))
    assert "".join(found) == line and max(len(one.encode()) for one in found) <= log_lines.LINE


def test_a_long_log_is_told_whole(place: Installation) -> None:
    lines = [f"{n:06d} " + "x" * (n % 90) for n in range(12_000)]
    job_id, _ = running(place, "\n".join(lines).encode())
    end(place, job_id)
    assert texts(follow(place, job_id, limit=1000)) == lines
    assert texts(follow(place, job_id, tail=11))[-1] == lines[-1]


def test_a_link_in_place_of_the_log_is_not_followed(place: Installation, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    job_id, paths = running(place)
    paths.log.unlink()
    paths.log.symlink_to(secret)
    end(place, job_id)
    assert texts(follow(place, job_id)) == []
    paths.log.unlink()
    os.mkfifo(paths.log)
    assert texts(follow(place, job_id)) == []


def test_a_reason_of_many_lines_ends_the_log_in_one(place: Installation) -> None:
    (job_id,) = put(place, state="failed", reason="returned 1; its log ends:\nTraceback\n", seconds=1.0)
    ended = follow(place, job_id)[-1]
    assert ended["content"] == f"job {job_id} ended failed after 1.0 s: returned 1; its log ends:"
    assert ended["level"] == "error" and row(place, job_id).state == "failed"


@pytest.mark.parametrize("cursor", ["", "x", "WyIxIl0", "WyItMSIsICIwIiwgIjAiXQ", "WyIwIiwgIjk5OTk5OTk5OTkiLCAiMCJd"])
def test_a_cursor_that_no_page_gave_is_refused(place: Installation, cursor: str) -> None:
    job_id, _ = running(place, b"x\n")
    with pytest.raises(InvalidCursor):
        jobs.logs(place, job_id, ALICE, cursor=cursor)


def test_bounds_of_a_page_are_kept(place: Installation) -> None:
    job_id, _ = running(place)
    for asked in ({"limit": 0}, {"limit": 1001}, {"tail": 0}, {"tail": 1001}):
        with pytest.raises(InvalidLimit):
            jobs.logs(place, job_id, ALICE, **asked)
    with pytest.raises(InvalidLimit):
        jobs.logs(place, job_id, ALICE, tail=1, cursor="WyIwIiwgIjAiLCAiMCJd")
    with pytest.raises(InvalidRequest):
        jobs.logs(place, job_id, ALICE, source="stdout")
