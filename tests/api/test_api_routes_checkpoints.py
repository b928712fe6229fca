"""Routes of checkpoints: who may list, download and delete, and what a download's addresses are good for."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

import httpx2
import pytest
from calling import Api
from carrying import Carried

from everloop.service import downloads
from everloop.service.permissions import KeyKind

DOWNLOAD = "/v1/job/checkpoints/download"


def addresses(found: Carried, **more: str) -> dict[str, str]:
    answer = found.api.get(DOWNLOAD, key=found.key, params={"path": found.checkpoint["tinker_path"], **more})
    assert answer.status == 200, answer.text
    return dict(answer.json["urls"])


def test_every_file_comes_without_a_key_and_as_its_manifest_says(carried: Carried) -> None:
    files = {one["name"]: one for one in carried.checkpoint["files"]}
    urls = addresses(carried)
    assert set(urls) == set(files)
    for name, url in urls.items():
        got = httpx2.get(url, trust_env=False)
        assert (got.status_code, len(got.content)) == (200, files[name]["size_bytes"])
        assert hashlib.sha256(got.content).hexdigest() == files[name]["sha256"]
        assert got.headers["content-type"] == "application/octet-stream"
        assert name in got.headers["content-disposition"]


def test_addresses_are_of_the_server_that_was_asked(carried: Carried) -> None:
    assert all(url.startswith(f"{carried.api.url}/v1/job/checkpoints/content/") for url in addresses(carried).values())


def test_addresses_are_of_the_public_address_where_there_is_one(carried: Carried) -> None:
    public = "https://loops.example.org/everloop"
    home = carried.api.place.settings.home
    with Api(home, public_url=public) as other:
        answer = other.get(DOWNLOAD, key=carried.key, params={"path": carried.checkpoint["checkpoint_id"]})
    assert all(url.startswith(f"{public}/v1/job/") for url in answer.json["urls"].values())


@pytest.mark.parametrize("more", [{"job_id": "job_other"}, {"run_id": "other"}])
def test_a_checkpoint_of_another_job_or_run_is_not_found(carried: Carried, more: dict[str, str]) -> None:
    path = carried.checkpoint["tinker_path"]
    answer = carried.api.get(DOWNLOAD, key=carried.key, params={"path": path, **more})
    assert (answer.status, answer.code) == (404, "CHECKPOINT_NOT_FOUND")


def test_a_changed_address_is_refused(carried: Carried) -> None:
    path = urlsplit(next(iter(addresses(carried).values()))).path
    for changed in (path[:-4] + "AAAA", path + "A", path.rpartition(".")[0], path.rpartition("/")[0] + "/x"):
        answer = carried.api.get(changed)
        assert (answer.status, answer.code) == (403, "ACCESS_DENIED")


def test_an_expired_address_is_refused(carried: Carried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "SECONDS", -1)
    token = downloads.sign(carried.api.place.home, carried.job_id, "manifest.json")
    answer = carried.api.get(f"/v1/job/checkpoints/content/{token}")
    assert (answer.status, answer.code) == (403, "ACCESS_DENIED")


def test_another_project_sees_no_checkpoint(carried: Carried) -> None:
    other = carried.api.key(project=carried.api.project("elsewhere"))
    name = carried.checkpoint["checkpoint_id"]
    assert carried.api.get("/v1/job/checkpoints", key=other).json["items"] == []
    assert carried.api.get(DOWNLOAD, key=other, params={"path": name}).status == 404
    assert carried.api.delete(f"/v1/job/checkpoints/{name}", key=other).status == 404


def test_checkpoints_are_listed_by_job_and_by_run(carried: Carried) -> None:
    def listed(**query: str) -> list[str]:
        answer = carried.api.get("/v1/job/checkpoints", key=carried.key, params={"limit": "100", **query})
        return [one["job_id"] for one in answer.json["items"]]

    assert listed(job_id=carried.job_id) == listed(train_job_id=carried.job_id) == [carried.job_id]
    assert carried.job_id in listed(run_id="live-1")
    assert listed(run_id="nothing") == []


@pytest.mark.parametrize("query", ["", "?path=", "?path=ckpt_none", "?path=envloop://a/b", "?path=mock:x"])
def test_what_is_no_checkpoint_is_not_found(carried: Carried, query: str) -> None:
    answer = carried.api.get(DOWNLOAD + query, key=carried.key)
    assert (answer.status, answer.code) == (404, "CHECKPOINT_NOT_FOUND")


def test_a_deleted_checkpoint_is_gone_and_its_operation_has_succeeded(carried: Carried) -> None:
    api, key = carried.api, carried.key
    made = carried.spare
    (left,) = api.get(f"/v1/job/checkpoints?job_id={made}", key=key).json["items"]
    urls = api.get(DOWNLOAD, key=key, params={"path": left["checkpoint_id"]}).json["urls"]
    path = f"/v1/job/checkpoints/{left['checkpoint_id']}"
    assert api.delete(path, key=api.key(KeyKind.READ_ONLY)).status == 403
    done = api.delete(path, key=key).json
    assert api.delete(path, key=key).json == done
    assert api.get(f"/v1/projects/local/operations/{done['operation_id']}", key=key).json == done
    assert api.get(f"/v1/projects/other/operations/{done['operation_id']}", key=key).status == 404
    assert api.get(f"/v1/job/checkpoints?job_id={made}", key=key).json["items"] == []
    assert [api.get(urlsplit(url).path).status for url in urls.values()] == [404, 404]
