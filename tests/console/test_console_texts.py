"""Texts that models, jobs and callers gave, on every page that shows them: none turns the direction of what follows."""

from __future__ import annotations

import recorded
import stored
from visiting import Reader, Site

from everloop.service import approvals
from everloop.service.caller import LOCAL, Caller
from everloop.service.permissions import Permission, Role
from everloop.values import iso, utcnow

TURNS = "Paid \u202e$5\u2066"
STILL = "Paid \ufffd$5\ufffd"


def told(reader: Reader, path: str) -> str:
    """The page, which has the text as it may be shown and not as it was given."""
    answer = reader.get(path)
    assert answer.status_code == 200
    assert "\u202e" not in answer.text and "\u2066" not in answer.text, path
    assert STILL in answer.text, path
    return answer.text


def test_no_text_of_a_run_turns_what_follows_it_in_a_list(site: Site, reader: Reader) -> None:
    project = site.project()
    caller = Caller("user:x", "local", project, frozenset(Permission))
    error = {"code": "X", "message": f"{TURNS} of a run"}
    stored.failed(site.place, "turned", caller=caller, error=error, updated_at=str(iso(utcnow())))
    stored.failed(site.place, "turned-too", caller=caller, best_version=f"{TURNS} of a run")
    reader.enter((project, Role.VIEWER))
    for page in ("overview", "rsi/model-loops", "rsi/model-loops/turned"):
        assert f"{STILL} of a run" in told(reader, f"/local/{project}/{page}")


def test_no_text_of_an_approval_turns_what_follows_it(site: Site, reader: Reader) -> None:
    project = site.project()
    run = recorded.run(site.place, "turned-approval", project)
    judge = {"id": TURNS, "version": None}
    document = {"round": 1, "baseline": "v0", "judge": judge, "rationale": recorded.RATIONALE | {"what": TURNS}}
    (approval_id,) = recorded.asked(site.place, run, ["r1c1"], document)
    reader.enter((project, Role.VIEWER))
    assert f"{STILL}, version —" in told(reader, f"/local/{project}/approvals")
    approvals.decide(site.place, approval_id, "reject", "no \u200fgain", caller=LOCAL)
    assert "no \ufffdgain" in told(reader, f"/local/{project}/approvals?state=rejected")


def test_no_text_of_a_job_turns_what_follows_it(site: Site, reader: Reader) -> None:
    project = site.project()
    state = {"state": "failed", "reason": TURNS, "returncode": 1}
    (job_id,) = recorded.submitted(site.place, project, labels={"team": TURNS}, **state)
    reader.enter((project, Role.VIEWER))
    assert told(reader, f"/local/{project}/experiment/jobs/{job_id}").count(STILL) == 2


def test_no_line_of_a_log_turns_what_follows_it(site: Site, reader: Reader) -> None:
    project = site.project()
    job_id = recorded.logged(site.place, project, f"loss {TURNS}\n中文\u3000全角\n".encode())
    reader.enter((project, Role.VIEWER))
    page = reader.get(f"/local/{project}/experiment/jobs/{job_id}?tab=log").text
    assert "\u202e" not in page and "\u2066" not in page
    assert "loss Paid \\u202e$5\\u2066" in page and "中文\u3000全角" in page


def test_what_a_form_was_sent_with_comes_back_as_it_was(reader: Reader) -> None:
    reader.get("/sign-in", params={"next": "/local/local/overview?a=%E2%80%AE"})
    assert reader.hidden("/sign-in")["next"] == "/local/local/overview?a=%E2%80%AE"
