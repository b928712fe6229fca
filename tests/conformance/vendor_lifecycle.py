"""Checks of a run's life: followed, steered, extended, stopped; and of who may see and do what."""

from __future__ import annotations

import json

from vendor_bench import LIVE_FIELDS, OVER, RSI, STEERS, Bench


class Lifecycle(Bench):
    def lifecycle(self):
        run = f"{self.tag}-a"
        done = self.el(
            "job",
            "run",
            "start",
            run,
            "--brief",
            "Get better at long sums.",
            f"--model-usd-cap={self.args.cap}",
            "--dry-run",
            "--rounds",
            "1000",
        )
        if not self.good("start.exit", done):
            return
        got = done.json or {}
        self.check(
            "start.fields",
            got.get("state") == "starting" and got.get("run", run) == run and got.get("mode") == "dry",
            done.brief(),
        )
        self.check(
            "start.echoes-caps",
            "limits" in got and any("owner" in key or "attribution" in key for key in got),
            done.brief(),
            must=False,
        )
        self.check("start.reserved-keys", not {"operation_id", "skipped"} & set(got), done.brief())
        status, listed, _, raw = self.http("GET", RSI + "/runs")
        rows = (listed or {}).get("items") if isinstance(listed, dict) else None
        mine = [row for row in rows or [] if row.get("run") == run]
        self.check("runs.listed-at-once", status == 200 and len(mine) == 1, raw[:300])
        if mine:
            self.check(
                "runs.row-fields",
                {"state", "round", "rounds_target", "spend", "updated_at"} <= set(mine[0]),
                mine[0],
                must=False,
            )
        done = self.el("job", "run", "start", run, "--brief", "again", "--model-usd-cap=1", "--dry-run")
        self.refused("start.duplicate", done, "RSI_CONFLICT", 409)

        follower = self.follow_begin(run)
        done = self.el("job", "run", "live", run)
        self.good("live.exit", done)
        view = done.json or {}
        self.check(
            "live.fields",
            not [field for field in LIVE_FIELDS if field not in view],
            f"missing {[f for f in LIVE_FIELDS if f not in view]}",
        )
        self.check(
            "live.reserved-keys",
            not {"operation_id", "skipped"} & set(view) and view.get("status") not in ("failed", "FAILED"),
            done.brief(),
        )
        self.events("live", view, None)
        cursor = view.get("next_cursor")
        if isinstance(cursor, int):
            address = f"{RSI}/runs/{run}/live?since={cursor}"
            self.wait(lambda: (self.http("GET", address)[1] or {}).get("events"), self.args.patience)
            later = self.el("job", "run", "live", run, "--since", str(cursor)).json or {}
            self.events("live.since", later, cursor)
            self.check("live.since.new", bool(later.get("events")), later)
        done = self.el("job", "run", "live", run, "--since", "-1")
        self.check("live.since.negative", done.code == 1 and done.error[1] == 422, done.brief())
        self.refused("live.since.negative-code", done, "INVALID_RSI_REQUEST", 422, must=False)
        self.check("live.since.text", self.http("GET", f"{RSI}/runs/{run}/live?since=abc")[0] == 422)
        for words in (("live",), ("steer",), ("stop",)):
            done = self.el("job", "run", words[0], f"{self.tag}-none", *(["hello"] if words[0] == "steer" else []))
            self.refused(f"{words[0]}.unknown-run", done, "RSI_RUN_NOT_FOUND", 404)
        done = self.el("job", "run", "live", "No/Such Run?")
        self.check("live.odd-name", done.code == 1 and done.error[1] == 404, done.brief())
        self.envelope("error.envelope.404", self.http("GET", f"{RSI}/runs/{self.tag}-none/live"))

        state = (self.http("GET", f"{RSI}/runs/{run}/live")[1] or {}).get("state")
        if not self.check(
            "lifecycle.still-running",
            state not in OVER,
            f"the run is {state} already: raise --cap, or the loop ignores --rounds",
        ):
            self.follow_end("follow", follower, OVER)
            return
        done = self.el("job", "run", "steer", run, "Look at the unseen families first.")
        self.good("steer.exit", done)
        first = done.json or {}
        self.check("steer.fields", first.get("id") and first.get("status") == "queued", done.brief())
        answer = self.http("POST", f"{RSI}/runs/{run}/steer", {"text": "y" * 4000, "author": "somebody-else"})
        self.check("steer.http-202", answer[0] in (202, 422), answer[3][:200])
        self.refused("steer.empty", self.el("job", "run", "steer", run, ""), "INVALID_STEER", 422)
        self.refused("steer.long", self.el("job", "run", "steer", run, "z" * 4001), "INVALID_STEER", 422)
        self.check("steer.http-no-text", self.http("POST", f"{RSI}/runs/{run}/steer", {})[0] == 422)
        steers = (self.http("GET", f"{RSI}/runs/{run}/live")[1] or {}).get("steers") or []
        self.check(
            "steer.listed",
            any(item.get("id") == first.get("id") and item.get("status") in STEERS for item in steers),
            steers,
        )
        self.check(
            "steer.author-is-caller",
            all("somebody-else" not in json.dumps(item.get("author", "")) for item in steers),
            steers,
        )
        delivered = self.wait(
            lambda: [
                item
                for item in (self.http("GET", f"{RSI}/runs/{run}/live")[1] or {}).get("steers") or []
                if item.get("id") == first.get("id") and item.get("status") == "delivered"
            ],
            self.args.patience,
        )
        self.check("steer.delivered", delivered, "never delivered to a running loop")

        answer = self.http("POST", f"{RSI}/runs/{run}/directives", {"text": "Keep the held-out split frozen."})
        self.check("directive.accepted", answer[0] in (200, 201, 202), answer[3][:200])
        self.refused_http(
            "directive.empty",
            self.http("POST", f"{RSI}/runs/{run}/directives", {"text": ""}),
            "INVALID_DIRECTIVE",
            422,
            must=False,
        )
        answer = self.http("GET", f"{RSI}/runs/{run}")
        self.check("detail.exists", answer[0] == 200 and isinstance(answer[1], dict), answer[3][:200])
        self.check("detail.directive-shown", "held-out split frozen" in json.dumps(answer[1]), "", must=False)
        control = f"{RSI}/runs/{run}/control"
        for name, body in (
            ("action", {"action": "dance"}),
            ("none", {}),
            ("extend-bare", {"action": "extend"}),
            ("extend-high", {"action": "extend", "rounds": 1001}),
            ("extend-zero", {"action": "extend", "rounds": 0}),
        ):
            self.refused_http("control." + name, self.http("POST", control, body), "INVALID_RSI_REQUEST", 422)
        answer = self.http("POST", control, {"action": "resume"})
        self.refused_http("control.resume-running", answer, "RSI_CONFLICT", 409)
        answer = self.http("POST", control, {"action": "extend", "rounds": 999})
        self.check("control.extend", answer[0] in (200, 202), answer[3][:200])

        self.permissions(run)
        round_one = self.wait(lambda: self.http("GET", f"{RSI}/runs/{run}/rounds/1")[0] == 200, self.args.patience)
        self.check("round.first", round_one, "round 1 was never reported")
        self.check("round.zero", self.http("GET", f"{RSI}/runs/{run}/rounds/0")[0] in (404, 422), must=False)

        done = self.el("job", "run", "stop", run)
        self.good("stop.exit", done)
        self.follow_end("follow", follower, {"stopped", "finished"})
        view = self.http("GET", f"{RSI}/runs/{run}/live")[1] or {}
        self.check("stop.state", view.get("state") in ("stopped", "finished"), view.get("state"))
        self.check(
            "stop.no-queued-steers",
            not [item for item in view.get("steers") or [] if item.get("status") == "queued"],
            view.get("steers"),
        )
        self.refused("steer.ended", self.el("job", "run", "steer", run, "too late"), "RSI_RUN_NOT_ACTIVE", 409)
        self.refused("stop.ended", self.el("job", "run", "stop", run), {"RSI_CONFLICT", "RSI_RUN_NOT_ACTIVE"}, 409)
        again = self.el("job", "run", "live", run, "--follow", timeout=20)
        self.check(
            "follow.ended-run",
            again.code == 0 and again.out.strip().splitlines()[-1:] == ["state: " + str(view.get("state"))],
            again.brief(),
        )
        last = view.get("next_cursor")
        if isinstance(last, int):
            tail = self.el("job", "run", "live", run, "--follow", "--since", str(last), timeout=20)
            self.check("follow.since-end", tail.code == 0 and len(tail.out.strip().splitlines()) == 1, tail.brief())
        done = self.el("job", "run", "list", "--json")
        self.check(
            "dry-run.no-jobs",
            done.code == 0 and run not in [item.get("run") for item in (done.json or {}).get("items", [])],
            done.brief(),
            must=False,
        )

    def natural_end(self):
        run = (self.tag + "-" + "n" * 64)[:64]
        done = self.el(
            "job",
            "run",
            "start",
            run,
            "--brief-file",
            "-",
            f"--model-usd-cap={self.args.cap}",
            "--dry-run",
            "--rounds",
            "1",
            text="w" * 4000,
        )
        if self.good("natural.start-at-limits", done):
            self.follow_end("natural", self.follow_begin(run), {"finished", "stopped"})

    def permissions(self, run):
        viewer, nostop, other = self.args.viewer_key, self.args.nostop_key, self.args.other_key
        if viewer:
            self.good("viewer.live", self.el("job", "run", "live", run, key=viewer))
            done = self.el(
                "job", "run", "start", f"{self.tag}-v", "--brief", "x", "--model-usd-cap=1", "--dry-run", key=viewer
            )
            self.refused("viewer.start", done, "ACCESS_DENIED", 403)
            self.refused("viewer.steer", self.el("job", "run", "steer", run, "hello", key=viewer), "ACCESS_DENIED", 403)
            self.refused("viewer.stop", self.el("job", "run", "stop", run, key=viewer), "ACCESS_DENIED", 403)
            answer = self.http("POST", f"{RSI}/runs/{run}/directives", {"text": "x"}, key=viewer)
            self.refused_http("viewer.directive", answer, "ACCESS_DENIED", 403)
        else:
            self.report.skip("viewer.*", "no --viewer-key")
        if nostop:
            self.refused("nostop.stop", self.el("job", "run", "stop", run, key=nostop), "ACCESS_DENIED", 403)
            self.good("nostop.steer", self.el("job", "run", "steer", run, "hello", key=nostop))
        else:
            self.report.skip("nostop.*", "no --nostop-key")
        if other:
            self.refused("other-project.live", self.el("job", "run", "live", run, key=other), "RSI_RUN_NOT_FOUND", 404)
            self.refused(
                "other-project.steer", self.el("job", "run", "steer", run, "hello", key=other), "RSI_RUN_NOT_FOUND", 404
            )
            self.refused("other-project.stop", self.el("job", "run", "stop", run, key=other), "RSI_RUN_NOT_FOUND", 404)
            listed = self.http("GET", RSI + "/runs", key=other)[1]
            self.check("other-project.list", isinstance(listed, dict) and run not in json.dumps(listed), listed)
            if self.args.label_rule:
                self.label_rule(run)
            else:
                self.report.skip("label-rule", "no --label-rule")
            if isinstance(listed, dict) and listed.get("items") == []:
                self.check("runs.empty-hint", "start" in listed, listed, must=False)
        else:
            self.report.skip("other-project.*", "no --other-key")

    def label_rule(self, run):
        """May another project see this owned run by putting its label on a job of its own?"""
        path, _ = self.request({"rsi_run": run, "rsi_round": "1"})
        done = self.el("job", "submit", "--type", "train", "--file", path, key=self.args.other_key)
        self.good("label-rule.submit", done)
        done = self.el("job", "run", "live", run, key=self.args.other_key)
        if self.args.label_rule == "literal":
            self.good("label-rule.literal", done)
        else:
            self.refused("label-rule.owned", done, "RSI_RUN_NOT_FOUND", 404)
