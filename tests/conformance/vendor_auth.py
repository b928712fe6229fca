"""Checks of the connection: keys, scope, who one is."""

from __future__ import annotations

from vendor_bench import Bench


class Auth(Bench):
    def auth(self):
        done = self.el("auth", "status", "--check", "--json")
        self.good("auth.status.exit", done)
        self.check("auth.status.access", (done.json or {}).get("check") == "access_confirmed", done.brief())
        done = self.el("auth", "status", "--check", "--json", key="not-a-key-of-this-server")
        self.check(
            "auth.badkey.rejected",
            done.code == 1 and (done.json or {}).get("check") == "authentication_rejected",
            done.brief(),
        )
        self.check("auth.badkey.401", done.error[1] == 401, done.brief())
        status, me, _, raw = self.http("GET", "/v1/me")
        me = me if isinstance(me, dict) else {}
        self.check(
            "auth.me.shape",
            status == 200
            and me.get("auth_method") == "api_key"
            and isinstance((me.get("workspace") or {}).get("workspace_id"), str),
            raw[:200],
        )
        project, workspace = (me.get("project") or {}), (me.get("workspace") or {})
        self.check(
            "auth.me.project",
            project.get("workspace_id") == workspace.get("workspace_id") and project.get("project_id"),
            raw[:200],
        )
        done = self.el("auth", "config", "set", "base-url", self.base, key=None, home="saved")
        self.good("auth.config.base-url", done)
        done = self.el(
            "auth", "config", "set", "api-key", "--stdin", key=None, home="saved", text=self.args.api_key + "\n"
        )
        self.good("auth.config.api-key", done)
        done = self.el("auth", "config", "show", "--json", key=None, home="saved")
        saved = (done.json or {}).get("saved", {})
        self.check(
            "auth.config.scope-saved",
            saved.get("project_id") == project.get("project_id")
            and saved.get("workspace_id") == workspace.get("workspace_id"),
            done.brief(),
        )
        done = self.el("auth", "status", "--check", "--json", key=None, home="saved")
        self.check("auth.config.saved-works", (done.json or {}).get("check") == "access_confirmed", done.brief())
        done = self.el(
            "auth", "config", "set", "api-key", "--stdin", key=None, home="saved", text="not-a-key-of-this-server\n"
        )
        self.check(
            "auth.config.bad-key-not-saved", done.code == 1 and done.error[0] == "AUTHENTICATION_REJECTED", done.brief()
        )
        if project.get("project_id"):
            done = self.el(
                "job", "list", ENVLOOP_PROJECT_ID=project["project_id"], ENVLOOP_WORKSPACE_ID=workspace["workspace_id"]
            )
            self.good("auth.scope-headers.own", done)
        done = self.el("job", "list", ENVLOOP_PROJECT_ID="prj-that-is-not-mine")
        self.check(
            "auth.scope-headers.foreign", done.code == 1 and done.error[1] in (403, 404), done.brief(), must=False
        )
        status, _, _, raw = self.http("GET", "/v1/job?limit=1", key=None)
        self.check("auth.anonymous", status == 401, f"{status} {raw[:100]!r}", must=False)
