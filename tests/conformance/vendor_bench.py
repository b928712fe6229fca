"""How the checks call a server, through the unmodified client and plainly, and how they judge what comes back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

KINDS = {"message", "tool_call", "tool_result", "steer", "round", "job", "error"}
STEERS = {"queued", "delivered", "dropped"}
OVER = {"finished", "failed", "stopped", "unreadable"}
JOB_WORDS = {"pending", "running", "stopping", "completed", "failed", "cancelled"}
JOB_OVER = {"completed", "failed", "cancelled"}
LIVE_FIELDS = [
    "state",
    "round",
    "rounds_target",
    "phase",
    "current",
    "events",
    "next_cursor",
    "steers",
    "jobs",
    "spend",
    "updated_at",
]
TOOLS = {
    "rsi_list_runs",
    "rsi_run_status",
    "rsi_status",
    "rsi_round",
    "rsi_start_run",
    "rsi_add_directive",
    "rsi_steer",
    "rsi_control",
}
RSI = "/v1/agent-runs/rsi"


class Report:
    def __init__(self, strict, verbose):
        self.strict, self.verbose, self.rows = strict, verbose, []

    def put(self, name, good, note="", must=True):
        verdict = "ok" if good else "FAIL" if must or self.strict else "warn"
        self.rows.append((verdict, name, note))
        if verdict != "ok" or self.verbose:
            print(f"{verdict:<4} {name}" + (f"  -- {note}" if verdict != "ok" and note else ""), flush=True)
        return good

    def skip(self, name, why):
        self.rows.append(("skip", name, why))
        if self.verbose:
            print(f"skip {name}  -- {why}", flush=True)

    def count(self, verdict):
        return sum(row[0] == verdict for row in self.rows)


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    @property
    def error(self):
        match = re.match(r"([A-Z][A-Z0-9_]*):.*?(?:\(HTTP (\d{3})\))?\s*(?:\n|$)", self.err)
        return (match[1], int(match[2]) if match[2] else None) if match else (None, None)

    def brief(self):
        return f"exit {self.code}, out {self.out[:160]!r}, err {self.err[:160]!r}"


class Bench:
    def __init__(self, args):
        self.args, self.base = args, args.base_url.rstrip("/")
        self.root = self.base.removesuffix("/v1")
        self.work = tempfile.mkdtemp(prefix="conformance-")
        self.report = Report(args.strict, args.verbose)
        self.tag = args.prefix or "cf-" + uuid.uuid4().hex[:8]

    # -- ways to call ------------------------------------------------------------------------------
    def environment(self, key, home="home", **extra):
        path = str(Path(self.work, home))
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
        result = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self.work,
            "ENVLOOP_HOME": path,
            "NO_PROXY": "*",
            "TZ": "UTC",
            "PYTHONUNBUFFERED": "1",
            "LANG": "C.UTF-8",
        }
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            if name in os.environ:
                result[name] = os.environ[name]
        if key is not None:
            result.update(ENVLOOP_BASE_URL=self.base, ENVLOOP_API_KEY=key)
        result.update(extra)
        return result

    def el(self, *words, key=..., text=None, home="home", timeout=60, **extra):
        key = self.args.api_key if key is ... else key
        try:
            done = subprocess.run(
                [self.args.el, *words],
                input=text if text is not None else "",
                capture_output=True,
                text=True,
                timeout=timeout,
                env=self.environment(key, home, **extra),
                cwd=self.work,
            )
        except subprocess.TimeoutExpired as late:
            return Outcome(
                124, (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else late.stdout or "", "timed out"
            )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def http(self, method, path, body=None, key=..., **headers):
        """One plain request; returns (status, parsed body or None, headers, raw bytes)."""
        key = self.args.api_key if key is ... else key
        wanted = {"Content-Type": "application/json", **headers}
        if key:
            wanted["Authorization"] = "Bearer " + key
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data=data, headers=wanted, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as answer:
                status, head, raw = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as fault:
            status, head, raw = fault.code, fault.headers, fault.read()
        except (urllib.error.URLError, OSError) as fault:
            return 0, None, {}, str(fault).encode()
        try:
            return status, json.loads(raw), head, raw
        except ValueError:
            return status, None, head, raw

    # -- ways to judge -----------------------------------------------------------------------------
    def good(self, name, result, must=True):
        return self.report.put(name, result.code == 0, result.brief(), must)

    def refused(self, name, result, code, status, must=True):
        codes = {code} if isinstance(code, str) else set(code)
        seen = result.error
        return self.report.put(
            name,
            result.code == 1 and seen[0] in codes and seen[1] == status,
            f"want {'/'.join(sorted(codes))} (HTTP {status}); {result.brief()}",
            must,
        )

    def refused_http(self, name, answer, code, status, must=True):
        codes = {code} if isinstance(code, str) else set(code)
        got = answer[1].get("code") if isinstance(answer[1], dict) else None
        return self.report.put(
            name,
            answer[0] == status and got in codes,
            f"want {status} {'/'.join(sorted(codes))}; got {answer[0]} {answer[3][:160]!r}",
            must,
        )

    def check(self, name, good, note="", must=True):
        return self.report.put(name, bool(good), note if isinstance(note, str) else repr(note)[:300], must)

    # -- ways to look -----------------------------------------------------------------------------------
    def events(self, name, view, since):
        events = view.get("events")
        if not self.check(name + ".events-list", isinstance(events, list) and len(events) <= 200, events):
            return
        seqs = [event.get("seq") for event in events]
        self.check(
            name + ".events-fields",
            all(isinstance(event.get("seq"), int) and isinstance(event.get("text"), str) for event in events),
            events[:1],
        )
        self.check(
            name + ".events-kinds",
            {event.get("kind") for event in events} <= KINDS,
            {event.get("kind") for event in events},
        )
        self.check(
            name + ".events-order", all(isinstance(seq, int) for seq in seqs) and seqs == sorted(set(seqs)), seqs[:10]
        )
        if since is not None:
            self.check(name + ".events-newer", all(isinstance(seq, int) and seq > since for seq in seqs), seqs[:10])
        cursor = view.get("next_cursor")
        self.check(
            name + ".cursor",
            type(cursor) is int and all(isinstance(seq, int) and seq <= cursor for seq in seqs),
            cursor,
        )

    def envelope(self, name, answer):
        body = answer[1]
        self.check(
            name,
            isinstance(body, dict)
            and re.fullmatch(r"[A-Z0-9_]{1,128}", str(body.get("code", "")))
            and len(answer[3]) <= 8192
            and isinstance(body.get("message"), str),
            answer[3][:200],
        )

    def follow_begin(self, run):
        process = subprocess.Popen(
            [self.args.el, "job", "run", "live", run, "--follow"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(self.args.api_key),
            cwd=self.work,
        )
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)
        reader.start()
        return process, lines, reader

    def follow_end(self, name, follower, states):
        process, lines, reader = follower
        try:
            code = process.wait(self.args.patience)
        except subprocess.TimeoutExpired:
            process.terminate()
            code = process.wait(10)
            self.check(name + ".ends", False, f"still following after {self.args.patience} s")
            return
        reader.join(5)
        lines = [line.rstrip("\n") for line in lines]
        self.check(
            name + ".ends",
            code == 0 and lines and lines[-1] in {"state: " + state for state in states},
            f"exit {code}, last {lines[-1:]}, err {process.stderr.read()[:200]!r}",
        )
        rows = [re.match(r"(\S+) (\S+): (.*)", line) for line in lines[:-1] if re.match(r"\S+ [a-z_A-Z]+: ", line)]
        seqs = [int(row[1]) for row in rows if row[1].isdigit()]
        self.check(name + ".lines", rows and len(seqs) == len(rows) and all(row[2] in KINDS for row in rows), lines[:2])
        self.check(name + ".once-in-order", seqs == sorted(set(seqs)) and seqs, seqs[:30])
        self.check(name + ".text", any(row[3].strip() for row in rows), lines[:3])

    def wait(self, test, seconds):
        end = time.monotonic() + seconds
        while True:
            value = test()
            if value or time.monotonic() > end:
                return value
            time.sleep(0.3)

    def request(self, labels, identity=None):
        identity = identity or f"{self.tag}-{uuid.uuid4().hex[:8]}"
        if self.args.train_request:
            text = Path(self.args.train_request).read_text(encoding="utf-8")
            body = json.loads(text.replace('"@LABELS@"', json.dumps(labels)).replace("@REQUEST_ID@", identity))
        else:
            body = {"request_id": identity, "spec": {"base_model": "Qwen/Qwen3.8-27B", "labels": labels}}
        path = str(Path(self.work, f"{uuid.uuid4().hex}.json"))
        Path(path).write_text(json.dumps(body), encoding="utf-8")
        return path, identity

    def submit(self, name, labels, *words, must=True):
        path, _ = self.request(labels)
        done = self.el("job", "submit", "--type", "train", "--file", path, *words, timeout=self.args.patience + 60)
        self.good(name, done, must)
        return (done.json or {}).get("job_id")
