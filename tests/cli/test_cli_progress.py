from __future__ import annotations

import io

import pytest
from rich.console import Console

from everloop.cli.progress import Lines, Screen, follow, picture
from everloop.cli.watch import Watch
from everloop.events import Json

DIAGNOSED: Json = {
    "seq": 1,
    "kind": "tool_result",
    "text": "d",
    "round": 1,
    "phase": "diagnose",
    "data": {"families": {"add3": [30, 60]}},
}
COUNTS: Json = {
    "wins": 12,
    "losses": 2,
    "both_right": 20,
    "both_wrong": 6,
    "candidate_missing": 0,
    "baseline_missing": 0,
}
SCREENED: Json = {
    "seq": 2,
    "kind": "tool_result",
    "text": "screen of r1c1: move",
    "round": 1,
    "phase": "evaluate",
    "data": {
        "candidate": "r1c1",
        "families": {"add3": COUNTS},
        "screen": {"wins": 12, "losses": 2, "pairs": 40, "estimate": 0.25, "threshold": 0.05},
    },
}
CERTIFIED: Json = {
    "seq": 3,
    "kind": "round",
    "text": "r1c1 certified as v1 against v0",
    "round": 1,
    "phase": "certify",
    "tool": "gate",
    "data": {
        "candidate": "r1c1",
        "certification": {"against": "v0", "wins": 61, "losses": 3, "pairs": 180, "log_e": 30.2, "threshold": 5.3},
    },
}


def live(state: str, *events: Json, cursor: int = 0) -> Json:
    return {
        "run": "r",
        "state": state,
        "round": 1,
        "rounds_target": 3,
        "phase": "x",
        "events": list(events),
        "next_cursor": cursor,
    }


def test_events_become_families_and_evidence() -> None:
    watch = Watch()
    watch.take(live("running", CERTIFIED, SCREENED, DIAGNOSED))
    assert watch.families["add3"].head == 0.5
    assert watch.families["add3"].change == 0.25
    assert [(one.what, one.candidate, one.value) for one in watch.evidence] == [
        ("screen", "r1c1", 0.25),
        ("certify", "r1c1", 30.2),
    ]


def test_a_new_diagnosis_forgets_the_last_candidate() -> None:
    watch = Watch()
    watch.take(live("running", DIAGNOSED, SCREENED))
    watch.take(live("running", {**DIAGNOSED, "seq": 9}))
    assert watch.families["add3"].change is None


def test_the_picture_shows_what_is_known_and_dashes_for_the_rest() -> None:
    watch = Watch()
    watch.take(live("running", DIAGNOSED, CERTIFIED))
    console = Console(width=100, file=io.StringIO())
    console.print(picture(watch, 12.0))
    told = console.file.getvalue()  # type: ignore[attr-defined] # the file is the StringIO above
    assert "round 1/3" in told
    assert "0.500" in told
    assert "30.2" in told
    assert "spend —" in told


def test_follow_asks_from_the_cursor_and_ends_with_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[int | None] = []
    answers = [live("running", DIAGNOSED, cursor=1), live("finished", SCREENED, cursor=2)]

    def look(since: int | None) -> Json:
        asked.append(since)
        return answers[len(asked) - 1]

    last = follow(look, Lines(to_stderr=True), alive=lambda: True)
    told = capsys.readouterr()
    assert last["state"] == "finished"
    assert asked == [None, 1]
    assert told.out == ""
    assert told.err.splitlines() == ["[round 1/3 diagnose] d", "[round 1/3 evaluate] screen of r1c1: move"]


def test_follow_takes_one_more_look_when_the_worker_is_gone() -> None:
    answers = iter([live("running"), live("finished")])
    assert follow(lambda _: next(answers), Lines(to_stderr=True), alive=lambda: False)["state"] == "finished"
    answers = iter([live("running"), live("running")])
    assert follow(lambda _: next(answers), Lines(to_stderr=True), alive=lambda: False)["state"] == "running"


def test_the_display_is_drawn_at_a_terminal_and_leaves_it_clean() -> None:
    out = io.StringIO()
    answers = iter([live("running", DIAGNOSED, cursor=1), live("finished", SCREENED, cursor=2)])
    with Screen(Console(file=out, force_terminal=True, width=100, height=40)) as shown:
        follow(lambda _: next(answers), shown, alive=lambda: True)
    told = out.getvalue()
    assert "add3" in told
    assert "\x1b[?25l" in told
    assert told.rindex("\x1b[?25h") > told.rindex("\x1b[?25l")
