"""A private PostgreSQL server for tests: its own folder, a free loopback port.

It keeps what was committed when its processes are killed, as usual, but not when the machine loses its power: it does
not wait for the disk.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

import psycopg

from everloop.store.database import Database

TEMPLATE = "migrated"
"""Name of the database that new ones are copies of."""


def binary(name: str) -> str:
    """Path of a PostgreSQL program; an error that says what to install when there is none."""
    found = shutil.which(name) or max(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), default=None)
    if found is None:
        raise RuntimeError(f"{name} is not installed, and these tests need it: apt-get install postgresql")
    return found


def free_port() -> int:
    """A port of the loopback address nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    """One cluster; `start`, `restart` and `stop` it, and make fresh databases in it."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="everloop-pg-"))
        self.data, self.port = self.root / "data", free_port()
        self.account: list[str] = []
        self.watcher: subprocess.Popen[bytes] | None = None
        self._templated = False
        if os.geteuid() == 0:  # the server refuses to run as root
            try:
                owner = pwd.getpwnam("postgres")
            except KeyError:
                raise RuntimeError("there is no account `postgres`: apt-get install postgresql") from None
            os.chown(self.root, owner.pw_uid, owner.pw_gid)
            self.account = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self.account, binary(program), *arguments]
        done = subprocess.run(
            command,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}")

    def _watch(self) -> subprocess.Popen[bytes]:
        """A process that removes the cluster when the pipe to us closes, so that it goes even if we are killed."""
        script = 'cat >/dev/null; read pid <"$1/data/postmaster.pid" && kill -QUIT "$pid"; sleep 1; rm -rf "$1"'
        command = ["sh", "-c", script, "sh", str(self.root)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

    def create(self) -> None:
        """Make the cluster and start it."""
        self.watcher = self._watch()
        self._run("initdb", "-D", str(self.data), "-U", "everloop", "--auth=trust", "-E", "UTF8", "--locale=C")
        self.start()

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.root}"
        options += " -c fsync=off -c full_page_writes=off -c synchronous_commit=on -c max_connections=200"
        log = str(self.root / "log")
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: smart, fast (ends connections) or immediate (as a crash would)."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "-m", mode, "stop")

    def restart(self, mode: str = "fast") -> None:
        """Stop and start again on the same port."""
        self.stop(mode)
        self.start()

    def url(self, database: str) -> str:
        """URL of one of its databases."""
        return f"postgresql://everloop@127.0.0.1:{self.port}/{database}"

    def empty(self) -> str:
        """URL of a new, empty database."""
        return self._copy("template1", f"t{uuid.uuid4().hex[:12]}")

    def fresh(self) -> str:
        """URL of a new, migrated database."""
        if not self._templated:
            opened = Database(self._copy("template1", TEMPLATE))
            opened.migrate()
            opened.close()
            self._templated = True
        return self._copy(TEMPLATE, f"t{uuid.uuid4().hex[:12]}")

    def _copy(self, of: str, name: str) -> str:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {of}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, ending whatever still uses it."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {url.rsplit('/', 1)[1]} WITH (FORCE)")

    def destroy(self) -> None:
        """Stop the server if it runs and remove its folder."""
        try:
            if (self.data / "postmaster.pid").exists():
                self.stop("immediate")
        finally:
            shutil.rmtree(self.root, ignore_errors=True)
            if self.watcher is not None:
                self.watcher.communicate()
