"""Checkpoints that jobs left: listed, fetched by links that expire, deleted; trials are the same files again."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection
from submitting import ALICE, OTHER, WORK, caller, put, request, row

from everloop.errors import (
    AccessDenied,
    CheckpointNotFound,
    InvalidTrainJobSpec,
    JobNotFound,
    NotFound,
    StateConflict,
    StoreUnavailable,
)
from everloop.paths import Home
from everloop.service import checkpoints, downloads, jobs, trials
from everloop.service.installation import Installation, open_installation
from everloop.service.permissions import Permission
from everloop.settings import Settings
from everloop.store import jobs as stored
from everloop.store.database import Database
from everloop.store.jobs import NewJob
from everloop.students.base import Manifest
from everloop.students.checkpoints import save

WEIGHTS = b"weights of a test"
BASE = "http://127.0.0.1:8711"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Installation]:
    opened = open_installation(Settings(home=tmp_path / "home"))
    yield opened
    opened.close()


def manifest(sha: str) -> Manifest:
    return Manifest("nano", sha, None, None, 4, 0, {}, 1, "cpu", {})


def left(place: Installation, project: str = "p", labels: dict[str, object] | None = None) -> str:
    """A completed job with a checkpoint of a few bytes."""
    (job_id,) = put(place, project=project, labels=labels or {}, state="completed")  # type: ignore[arg-type]
    save(place.home.job(job_id).outputs / "checkpoint", WEIGHTS, "weights.safetensors", manifest)
    return job_id


def ckpt(job_id: str) -> str:
    return "ckpt_" + job_id.removeprefix("job_")


def uri(job_id: str) -> str:
    return f"envloop://{job_id}/{ckpt(job_id)}"


def tokens(place: Installation, job_id: str) -> dict[str, str]:
    told = checkpoints.download(place, ALICE, BASE, path=uri(job_id))
    assert isinstance(told["urls"], dict) and told["checkpoint_id"] == ckpt(job_id)
    assert all(str(url).startswith(BASE + checkpoints.CONTENT) for url in told["urls"].values())
    return {name: str(url).rsplit("/", 1)[1] for name, url in told["urls"].items()}


def test_a_checkpoint_is_listed_with_sizes_and_hashes_of_its_files(place: Installation) -> None:
    job_id = left(place, labels={"rsi_run": "r-1", "agent_checkpoint": "candidate-2"})
    (item,) = checkpoints.listing(place, ALICE).items
    assert (item["checkpoint_id"], item["tinker_path"], item["job_id"]) == (ckpt(job_id), uri(job_id), job_id)
    assert (item["name"], item["run_id"], item["base_model"]) == ("candidate-2", "r-1", "nano")
    folder = place.home.job(job_id).outputs / "checkpoint"
    assert item["files"] == [
        {"name": name, "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name in ("manifest.json", "weights.safetensors")
        for data in [(folder / name).read_bytes()]
    ]


def test_filters_name_a_job_or_a_run_of_ones_own(place: Installation) -> None:
    first, second = left(place, labels={"rsi_run": "r-1"}), left(place)
    theirs = left(place, project="q", labels={"rsi_run": "r-1"})

    def ids(**filters: str) -> list[object]:
        return [one["job_id"] for one in checkpoints.listing(place, ALICE, **filters).items]

    assert ids() == [second, first] and ids(run_id="r-1") == [first]
    assert ids(job_id=first) == ids(train_job_id=first) == [first] and ids(job_id=first, run_id="r-2") == []
    assert ids(job_id=theirs) == ids(job_id="job_none") == ids(job_id=first, train_job_id=second) == []


def test_pages_go_on_to_the_end_past_deleted_ones(place: Installation) -> None:
    made = [left(place) for _ in range(5)]
    put(place, 3, state="failed")
    checkpoints.delete(place, ckpt(made[3]), ALICE)
    found: list[object] = []
    cursor = None
    while True:
        page = checkpoints.listing(place, ALICE, limit=2, cursor=cursor)
        found += [one["job_id"] for one in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert found == [made[place_] for place_ in (4, 2, 1, 0)]


def test_a_link_gives_its_file_without_a_key(place: Installation) -> None:
    found = tokens(place, left(place))
    assert set(found) == {"manifest.json", "weights.safetensors"}
    assert checkpoints.content(place, found["weights.safetensors"]).read_bytes() == WEIGHTS


def test_a_link_expires(place: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tokens(place, left(place))["manifest.json"]
    now = time.time()
    monkeypatch.setattr(downloads.time, "time", lambda: now + downloads.SECONDS - 5)
    assert checkpoints.content(place, token).is_file()
    monkeypatch.setattr(downloads.time, "time", lambda: now + downloads.SECONDS + 5)
    with pytest.raises(AccessDenied) as refused:
        checkpoints.content(place, token)
    assert refused.value.status == 403


def test_no_other_token_is_good(place: Installation, tmp_path: Path) -> None:
    token = tokens(place, left(place))["manifest.json"]
    body, seal = token.split(".")
    foreign = downloads.sign(Home(tmp_path / "elsewhere").create(), "job_x", "manifest.json")
    changed = [body[:-2] + ("AA" if body[-2:] != "AA" else "BB") + "." + seal, body + "." + seal[:-3], body, "", "."]
    for other in (*changed, body + ".", foreign, token + "x" * 600, "é." + seal, "\ud800." + seal, token + "é"):
        with pytest.raises(AccessDenied):
            checkpoints.content(place, other)


def test_a_link_to_what_is_not_a_file_of_the_checkpoint_gives_nothing(place: Installation, tmp_path: Path) -> None:
    job_id = left(place)
    folder = place.home.job(job_id).outputs / "checkpoint"
    (folder / "other.txt").write_text("x")
    (tmp_path / "secret").write_text("secret")
    for name in ("other.txt", "../checkpoint/manifest.json", "../../job.log", str(tmp_path / "secret"), ""):
        with pytest.raises(CheckpointNotFound):
            checkpoints.content(place, downloads.sign(place.home, job_id, name))


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_symbolic_link_on_the_way_is_not_followed(place: Installation, tmp_path: Path, level: int) -> None:
    job_id = left(place)
    token = tokens(place, job_id)["weights.safetensors"]
    target = place.home.job(job_id).outputs / "checkpoint" / "weights.safetensors"
    swapped = (target, *target.parents)[level]
    swapped.rename(tmp_path / "moved")
    swapped.symlink_to(tmp_path / "moved")
    with pytest.raises(CheckpointNotFound):
        checkpoints.content(place, token)


def test_the_secret_is_made_once_and_kept_private(place: Installation) -> None:
    token = downloads.sign(place.home, "job_x", "manifest.json")
    assert stat.S_IMODE(place.home.signing_key.stat().st_mode) == 0o600
    before = place.home.signing_key.read_bytes()
    assert downloads.read(place.home, token).job_id == "job_x"
    assert place.home.signing_key.read_bytes() == before and len(before) == 32


def test_a_secret_that_others_may_have_is_not_used(place: Installation, tmp_path: Path) -> None:
    key = place.home.signing_key
    key.write_bytes(os.urandom(32))
    key.chmod(0o644)
    with pytest.raises(StoreUnavailable):
        downloads.sign(place.home, "job_x", "manifest.json")
    key.unlink()
    (tmp_path / "key").write_bytes(os.urandom(32))
    key.symlink_to(tmp_path / "key")
    with pytest.raises(StoreUnavailable):
        downloads.sign(place.home, "job_x", "manifest.json")
    key.unlink()
    key.write_bytes(b"")
    key.chmod(0o600)
    with pytest.raises(StoreUnavailable):
        downloads.sign(place.home, "job_x", "manifest.json")


@pytest.mark.parametrize("path", ["", "ckpt_none", "envloop://job_a/ckpt_b", "/etc/passwd", "job_x", "envloop://"])
def test_a_path_that_names_no_checkpoint_is_not_known(place: Installation, path: str) -> None:
    with pytest.raises(CheckpointNotFound):
        checkpoints.download(place, ALICE, BASE, path=path)


def test_a_checkpoint_of_another_project_is_not_known(place: Installation) -> None:
    job_id = left(place)
    for name in (ckpt(job_id), uri(job_id)):
        with pytest.raises(CheckpointNotFound):
            checkpoints.download(place, OTHER, BASE, path=name)
        with pytest.raises(CheckpointNotFound):
            checkpoints.delete(place, name, OTHER)
    with pytest.raises(CheckpointNotFound):
        checkpoints.download(place, ALICE, BASE, path=uri(job_id), job_id="job_other")


def test_a_deleted_checkpoint_is_gone_from_everywhere_and_deleting_again_is_no_error(place: Installation) -> None:
    job_id = left(place)
    token = tokens(place, job_id)["manifest.json"]
    told = checkpoints.delete(place, ckpt(job_id), ALICE)
    assert told["status"] == "SUCCEEDED" and checkpoints.delete(place, uri(job_id), ALICE) == told
    assert checkpoints.operation(place, str(told["operation_id"]), ALICE) == told
    assert not (place.home.job(job_id).outputs / "checkpoint").exists()
    assert checkpoints.listing(place, ALICE).items == []
    training = jobs.get(place, job_id, ALICE)["training"]
    assert isinstance(training, dict) and "checkpoint" not in training
    with pytest.raises(CheckpointNotFound):
        checkpoints.content(place, token)
    with pytest.raises(NotFound):
        checkpoints.operation(place, str(told["operation_id"]), OTHER)


def test_a_checkpoint_in_use_is_kept(place: Installation) -> None:
    job_id = left(place)
    child = jobs.submit(place, request(spec_parent=uri(job_id)), ALICE)
    with pytest.raises(StateConflict, match=str(child["job_id"])):
        checkpoints.delete(place, ckpt(job_id), ALICE)
    jobs.stop(place, str(child["job_id"]), ALICE)
    assert checkpoints.delete(place, ckpt(job_id), ALICE)["status"] == "SUCCEEDED"


def test_a_checkpoint_that_cannot_be_removed_is_told_and_goes_with_the_next_call(
    place: Installation, tmp_path: Path
) -> None:
    job_id = left(place)
    folder = place.home.job(job_id).outputs / "checkpoint"
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")  # a link is not followed, and so not removed
    told = checkpoints.delete(place, ckpt(job_id), ALICE)
    assert (told["status"], len(told["errors"])) == ("FAILED", 1)  # type: ignore[arg-type]
    assert checkpoints.operation(place, str(told["operation_id"]), ALICE) == told
    folder.unlink()
    again = checkpoints.delete(place, ckpt(job_id), ALICE)
    assert (again["status"], again["errors"]) == ("SUCCEEDED", [])


def test_no_job_goes_on_from_a_checkpoint_that_is_deleted_while_it_is_submitted(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Installation(Settings(database_url=database.url), database, Home(tmp_path / "home").create())
    job_id = left(place)
    look = checkpoints.parent_of

    def slow(*asked: object) -> str:
        found = look(*asked)  # type: ignore[arg-type]
        checkpoints.delete(place, ckpt(job_id), ALICE)
        return found

    monkeypatch.setattr(checkpoints, "parent_of", slow)
    with pytest.raises(InvalidTrainJobSpec, match=r"spec\.parent"):
        jobs.submit(place, request(spec_parent=uri(job_id)), ALICE)
    assert len(jobs.listing(place, ALICE).items) == 1


def test_a_checkpoint_is_not_deleted_while_a_job_that_goes_on_from_it_is_recorded(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Installation(Settings(database_url=database.url), database, Home(tmp_path / "home").create())
    job_id = left(place)
    record, refused = stored.submit, list[bool]()

    def delete() -> None:
        try:
            checkpoints.delete(place, ckpt(job_id), ALICE)
        except StateConflict:
            refused.append(True)

    deleting = threading.Thread(target=delete)

    def slow(tx: Connection, new: NewJob) -> bool:
        deleting.start()
        time.sleep(0.3)
        return record(tx, new)

    monkeypatch.setattr(stored, "submit", slow)
    jobs.submit(place, request(spec_parent=uri(job_id)), ALICE)
    deleting.join()
    assert refused == [True] and checkpoints.files(place, row(place, job_id))


def test_a_checkpoint_of_a_run_is_kept(place: Installation) -> None:
    with place.database.write() as tx:
        stored.put(tx, "r-1", "base-a1", round=0, purpose="base", method="sft", labels={"rsi_run": "r-1"},
                   digest="d", launcher="local", reserved_micros=0)  # fmt: skip
        stored.update(tx, "r-1", "base-a1", state="completed", workspace_id="w", project_id="p")
        found = stored.get(tx, "r-1", "base-a1")
    assert found is not None
    save(place.home.run("r-1").job("base-a1").outputs / "checkpoint", WEIGHTS, "weights.json", manifest)
    assert checkpoints.content(place, tokens(place, found.job_id)["weights.json"]).read_bytes() == WEIGHTS
    with pytest.raises(StateConflict, match="belongs to run r-1"):
        checkpoints.delete(place, ckpt(found.job_id), ALICE)


def test_a_job_may_go_on_from_ones_own_checkpoint_of_the_same_model_only(place: Installation) -> None:
    job_id = left(place)
    told = jobs.submit(place, request(spec_parent=uri(job_id)), ALICE)
    assert isinstance(told["training"], dict) and told["training"]["parent"] == uri(job_id)
    for asked, who in (
        (request(spec_parent=uri(job_id)), OTHER),
        (request(spec_parent="envloop://job_a/ckpt_a"), ALICE),
        (request(spec_parent=uri(job_id), spec_base_model="synthetic-job"), ALICE),
    ):
        with pytest.raises(InvalidTrainJobSpec):
            jobs.submit(place, asked, who)


def test_permissions_stand_before_the_look(place: Installation) -> None:
    viewer, nobody = caller(permissions=frozenset({Permission.READ})), caller(permissions=frozenset())
    with pytest.raises(AccessDenied):
        checkpoints.delete(place, "ckpt_none", viewer)
    for look in (lambda: checkpoints.listing(place, nobody), lambda: checkpoints.download(place, nobody, BASE)):
        with pytest.raises(AccessDenied):
            look()
    with pytest.raises(AccessDenied):
        trials.stop(place, "trial_x", caller(permissions=WORK - {Permission.STOP}))


def test_each_job_is_a_trial(place: Installation) -> None:
    job_id = left(place)
    trial_id = "trial_" + job_id.removeprefix("job_")
    (told,) = trials.listing(place, ALICE).items
    assert (told["trial_id"], told["status"], told["job_id"]) == (trial_id, "succeeded", job_id)
    assert trials.listing(place, ALICE, job_id=job_id).items == [told] == [trials.get(place, trial_id, ALICE)]
    assert (
        trials.listing(place, ALICE, job_id="job_none").items == trials.listing(place, ALICE, type="agent").items == []
    )
    result = trials.result(place, trial_id, ALICE)
    assert isinstance(result["result"], dict) and result["result"]["state"] == "completed"
    assert trials.snapshot(place, trial_id, ALICE)["spec"]
    for unknown in (job_id, "trial_none", ""):
        with pytest.raises(JobNotFound):
            trials.get(place, unknown, ALICE)
    with pytest.raises(JobNotFound):
        trials.get(place, trial_id, replace(OTHER, workspace_id="w"))


def test_a_trials_files_are_its_artifacts(place: Installation) -> None:
    job_id = left(place)
    trial_id = "trial_" + job_id.removeprefix("job_")
    items = trials.artifacts(place, trial_id, ALICE).items
    assert [one["name"] for one in items] == ["manifest.json", "weights.safetensors"]
    assert trials.artifact_path(place, trial_id, "weights.safetensors", ALICE).read_bytes() == WEIGHTS
    for name in ("job.log", "../job.log", "", "weights.json"):
        with pytest.raises(NotFound):
            trials.artifact_path(place, trial_id, name, ALICE)
    (waiting,) = put(place)
    assert trials.artifacts(place, "trial_" + waiting.removeprefix("job_"), ALICE).items == []
    assert trials.stop(place, "trial_" + waiting.removeprefix("job_"), ALICE)["status"] == "cancelled"
    assert row(place, waiting).state == "cancelled"
