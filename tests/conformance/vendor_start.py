"""Checks of what a start of a run may say."""

from __future__ import annotations

from vendor_bench import RSI, Bench


class Start(Bench):
    def start_rules(self):
        def attempt(name, *words, run=None, brief="x", cap="1", text=None):
            source = ("--brief-file", "-") if text is not None else ("--brief", brief)
            done = self.el(
                "job", "run", "start", run or f"{self.tag}-bad", *source, f"--model-usd-cap={cap}", *words, text=text
            )
            self.refused("start.rule." + name, done, "INVALID_RSI_REQUEST", 422)

        attempt("id-charset", "--dry-run", run="Bad_Name")
        attempt("id-length", "--dry-run", run="a" * 65)
        attempt("brief-empty", "--dry-run", brief="")
        attempt("brief-long", "--dry-run", text="b" * 4001)
        attempt("model-cap-zero", "--dry-run", cap="0")
        attempt("model-cap-negative", "--dry-run", cap="-1")
        attempt("usd-cap-zero", "--dry-run", "--usd-cap", "0")
        attempt("request-cap-zero", "--dry-run", "--model-request-cap", "0")
        attempt("domain", "--dry-run", "--domain", "astrology")
        attempt("rounds-low", "--dry-run", "--rounds", "0")
        attempt("rounds-high", "--dry-run", "--rounds", "1001")
        attempt("student-needs-dry", "--student-model", "some-model")
        base = {"run": f"{self.tag}-bad", "brief": "x", "dry_run": True}
        for name, body in (
            ("no-cap", {**base, "limits": {}}),
            ("no-limits", base),
            ("unknown-limit", {**base, "limits": {"model_usd_cap": 1, "zzz": 1}}),
            ("count-float", {**base, "limits": {"model_usd_cap": 1, "dev_n": 1.5}}),
            ("cap-bool", {**base, "limits": {"model_usd_cap": True}}),
            ("cap-string", {**base, "limits": {"model_usd_cap": "5"}}),
            ("rounds-string", {**base, "limits": {"model_usd_cap": 1}, "rounds": "3"}),
        ):
            self.refused_http(
                "start.rule.http-" + name, self.http("POST", RSI + "/runs", body), "INVALID_RSI_REQUEST", 422
            )
        for name, body in (("array", []), ("unknown-field", {**base, "limits": {"model_usd_cap": 1}, "zzz": 1})):
            self.refused_http(
                "start.rule.http-" + name,
                self.http("POST", RSI + "/runs", body),
                "INVALID_RSI_REQUEST",
                422,
                must=False,
            )
        done = self.el("job", "run", "live", f"{self.tag}-bad")
        self.refused("start.rule.nothing-started", done, "RSI_RUN_NOT_FOUND", 404)
