"""Checks of train jobs: submitted, listed, grouped into runs, logged, stopped; and of checkpoints."""

from __future__ import annotations

import json
import re
from pathlib import Path

from vendor_bench import JOB_OVER, JOB_WORDS, Bench


class Jobs(Bench):
    def jobs(self):
        group, shadow = f"{self.tag}-g", f"{self.tag}-shadow"
        labels = {
            "agent_run": group,
            "rsi_run": shadow,
            "agent_round": "2",
            "rsi_round": "9",
            "agent_purpose": "train candidate",
            "rsi_purpose": "wrong",
            "rsi_method": "sft",
            "agent_checkpoint": "candidate-2",
            "source": "conformance",
        }
        path, identity = self.request(labels)
        done = self.el("job", "submit", "--type", "train", "--file", path)
        self.good("job.submit", done)
        first = (done.json or {}).get("job_id")
        if not self.check("job.submit.job_id", isinstance(first, str) and first, done.brief()):
            return
        again = self.el("job", "submit", "--type", "train", "--file", path).json or {}
        self.check("job.submit.idempotent", again.get("job_id") == first, again)
        other, _ = self.request({**labels, "agent_round": "7"}, identity)
        done = self.el("job", "submit", "--type", "train", "--file", other)
        self.check("job.submit.conflict", done.code == 1 and done.error[1] == 409, done.brief(), must=False)
        second = self.submit(
            "job.submit.second",
            {"rsi_run": group, "rsi_round": "3", "rsi_checkpoint": "candidate-3", "source": "conformance"},
            "--wait",
        )
        self.submit("job.submit.unlabelled", {})

        done = self.el("job", "get", first)
        view = done.json or {}
        self.check(
            "job.get", done.code in (0, 1) and view.get("job_id") == first and view.get("type") == "train", done.brief()
        )
        training = view.get("training") or {}
        self.check(
            "job.get.labels", training.get("labels") == labels, training.get("labels"), must=not self.args.train_request
        )
        merged = {**training, **view}
        self.check(
            "job.get.user_metadata",
            (merged.get("user_metadata") or {}).get("agent_run") == group,
            merged.get("user_metadata"),
        )
        self.check("job.get.model_ids", isinstance(training.get("model_ids"), list), training, must=False)
        done = self.el("job", "get", f"{self.tag}-none")
        self.check("job.get.unknown", done.code == 1 and done.error[1] == 404, done.brief())
        over = self.wait(
            lambda: (self.http("GET", f"/v1/job/{first}")[1] or {}).get("status") in JOB_OVER, self.args.patience
        )
        self.check("job.terminal-word", over, (self.http("GET", f"/v1/job/{first}")[1] or {}).get("status"))
        done = self.el("job", "result", first)
        self.check("job.result", done.code == 0 and (done.json or {}).get("job_id") == first, done.brief())

        done = self.el("job", "list", "--type", "train", "--limit", "100", "--json")
        items = (done.json or {}).get("items")
        self.check(
            "job.list.json",
            done.code == 0 and isinstance(items, list) and first in [item.get("job_id") for item in items],
            done.brief(),
        )
        self.check(
            "job.list.words",
            {item.get("status") for item in items or []} <= JOB_WORDS,
            {item.get("status") for item in items or []},
        )
        stamps = [item.get("created_at") or "" for item in items or []]
        self.check("job.list.newest-first", stamps == sorted(stamps, reverse=True), stamps[:3])
        self.check("job.list.observed_at", isinstance((done.json or {}).get("observed_at"), str), must=False)
        done = self.el("job", "list", "--type", "train", "--limit", "1")
        self.check(
            "job.list.table", done.code == 0 and done.out.startswith("JOB ID") and "--cursor=" in done.out, done.brief()
        )
        seen, cursor, steps = [], None, 0
        while steps < 60:
            words = ["--cursor", cursor] if cursor else []
            page = self.el("job", "list", "--type", "train", "--limit", "2", "--json", *words).json or {}
            seen += [item.get("job_id") for item in page.get("items", [])]
            cursor, steps = page.get("next_cursor", ...), steps + 1
            if not isinstance(cursor, str) or not cursor:
                break
        self.check(
            "job.list.walk",
            cursor is None and len(seen) == len(set(seen)) and {first, second} <= set(seen),
            f"last cursor {cursor!r}, {len(seen)} rows, {len(set(seen))} distinct",
        )
        done = self.el("job", "list", "--limit", "0")
        self.check("job.list.bad-limit", done.code == 1 and done.error[1] in (400, 422), done.brief(), must=False)
        done = self.el("job", "list", "--status", "completed", "--type", "train", "--json")
        self.check(
            "job.list.status-filter",
            done.code == 0 and {item.get("status") for item in (done.json or {}).get("items", [])} <= {"completed"},
            done.brief(),
        )

        done = self.el("job", "log", first)
        self.good("job.log", done)
        done = self.el("job", "log", first, "--json", "--tail", "1")
        page = done.json or {}
        self.check(
            "job.log.page",
            done.code == 0
            and isinstance(page.get("items"), list)
            and all(isinstance(item.get("content"), str) and item.get("id") is not None for item in page["items"]),
            done.brief(),
        )
        done = self.el("job", "log", first, "--follow", "--limit", "2", timeout=60)
        self.good("job.log.follow-ends", done)
        self.check(
            "job.log.follow-once",
            len(done.out.splitlines()) == len(set(done.out.splitlines())),
            done.out[:200],
            must=False,
        )

        done = self.el("job", "run", "list", "--json")
        self.good("run.list.exit", done)
        listed = {item.get("run"): item for item in (done.json or {}).get("items", [])}
        self.check(
            "run.list.group",
            (listed.get(group, {}).get("trainings") or {}).get("total") == 2 and shadow not in listed,
            {key: listed[key] for key in listed if key and key.startswith(self.tag)},
        )
        self.check(
            "run.list.fields",
            listed.get(group, {}).get("agent") == "conformance"
            and listed.get(group, {}).get("latest_round") == 3
            and listed.get(group, {}).get("base_model"),
            listed.get(group),
        )
        self.check("run.list.observed_at", isinstance((done.json or {}).get("observed_at"), str), done.out[-200:])
        done = self.el("job", "run", "list")
        self.check("run.list.table", done.code == 0 and done.out.startswith("RUN") and group in done.out, done.brief())
        done = self.el("job", "run", "get", group, "--json")
        view = done.json or {}
        self.check("run.get.rounds", [item.get("round") for item in view.get("rounds", [])] == [2, 3], done.brief())
        self.check(
            "run.get.purpose",
            "wrong" not in json.dumps([job.get("purpose") for item in view.get("rounds", []) for job in item["jobs"]]),
            done.brief(),
        )
        marks = {(item.get("name"), bool(item.get("path"))) for item in view.get("checkpoints", [])}
        self.check("run.get.checkpoints", {("candidate-2", True), ("candidate-3", True)} <= marks, marks)
        done = self.el("job", "run", "get", group)
        self.check(
            "run.get.table",
            done.code == 0 and re.search(r"^Run:\s+" + group, done.out, re.M) and first in done.out,
            done.brief(),
        )
        done = self.el("job", "run", "get", f"{self.tag}-none")
        self.check("run.get.unknown", done.code == 1 and done.error == ("AGENT_RUN_NOT_FOUND", None), done.brief())

        done = self.el("checkpoint", "list", "--job-id", first, "--json")
        rows = (done.json or {}).get("items") or []
        self.check("checkpoint.list", done.code == 0 and rows, done.brief())
        self.check(
            "checkpoint.fields",
            rows
            and all(
                isinstance(row.get("checkpoint_id"), str)
                and isinstance(row.get("tinker_path"), str)
                and first in (row.get("job_id"), row.get("train_job_id"))
                for row in rows
            ),
            rows[:1],
        )
        done = self.el("checkpoint", "list")
        self.check("checkpoint.table", done.code == 0 and done.out.startswith("CHECKPOINT ID"), done.brief())
        if rows:
            target = str(Path(self.work, "weights"))
            done = self.el(
                "checkpoint",
                "download",
                str(rows[0].get("tinker_path")),
                target,
                "--job-id",
                first,
                timeout=self.args.patience,
            )
            self.check(
                "checkpoint.download", done.code == 0 and (done.json or {}).get("downloaded"), done.brief(), must=False
            )

        third = self.submit("job.submit.to-stop", {"rsi_run": group + "-stop", "rsi_round": "1"})
        if third:
            if self.args.nostop_key:
                self.refused(
                    "nostop.job-stop",
                    self.el("job", "stop", third, key=self.args.nostop_key),
                    "ACCESS_DENIED",
                    403,
                    must=False,
                )
            done = self.el("job", "stop", third)
            self.check("job.stop", done.code == 0 and (done.json or {}).get("job_id") == third, done.brief())
            self.check(
                "job.stop.word",
                self.wait(
                    lambda: (self.http("GET", f"/v1/job/{third}")[1] or {}).get("status") in ("cancelled", "completed"),
                    self.args.patience,
                ),
                "",
            )
        if self.args.viewer_key:
            path, _ = self.request({})
            done = self.el("job", "submit", "--type", "train", "--file", path, key=self.args.viewer_key)
            self.check("viewer.submit", done.code == 1 and done.error[1] == 403, done.brief())
        if self.args.other_key:
            done = self.el("job", "get", first, key=self.args.other_key)
            self.check("other-project.job", done.code == 1 and done.error[1] == 404, done.brief())
