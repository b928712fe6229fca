"""``el``: the group of commands. Nothing heavy is imported before a command is called, so that help is quick."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from everloop import __version__
from everloop.cli.sentences import INTERRUPTED
from everloop.errors import EverloopError

COMMANDS = {
    "approve": ("everloop.cli.approve:approve", "Decide what waits for a person, and judge rejected candidates."),
    "auth": ("everloop.cli.auth:auth", "Sign in to a server, and look at the connection in force."),
    "checkpoint": ("everloop.cli.checkpoint:checkpoint", "List and download checkpoints at a server."),
    "completion": ("everloop.cli.completion:completion", "Print a script that completes commands in a shell."),
    "job": ("everloop.cli.job:job", "Start, follow and steer runs, and submit train jobs, at a server."),
    "demo": ("everloop.cli.demo:demo", "Train a student over several rounds and show what the evidence supports."),
    "evaluator": ("everloop.cli.evaluator:evaluator", "Calibrate the soft score that stands beside the hard rules."),
    "gateway": ("everloop.cli.gateway:gateway", "Serve models to candidates and programs, within caps."),
    "model": ("everloop.cli.model:model", "Configure models, try them, and serve a small one on this machine."),
    "doctor": ("everloop.cli.doctor:doctor", "Check that this machine can run loops."),
    "gate": ("everloop.cli.gate:gate", "Plan, test and simulate decision gates."),
    "serve": ("everloop.cli.serve:serve", "Serve the API and the pages in the foreground, without a worker."),
    "up": ("everloop.cli.up:up", "Serve the API and the pages, and carry out runs, in the foreground."),
    "audit": ("everloop.cli.audit:audit", "Show the audit log, newest first: who did or was refused what."),
    "key": ("everloop.cli.key:key", "Make, list and revoke API keys of projects."),
    "member": ("everloop.cli.member:member", "Let people sign in, and say what they may do in a project."),
    "project": ("everloop.cli.project:project", "Make and list projects: what keys, members, runs and jobs belong to."),
    "version": ("everloop.cli.version:version", "Show the version."),
    "worker": ("everloop.cli.worker:worker", "Carry out runs in the foreground."),
}
"""Name -> where the command is, and its help in one line (kept equal to the command's own by a test)."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; their help lines come from `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names, in alphabetical order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; an expected error becomes one line, Ctrl-C exit code 130."""
        try:
            return super().invoke(ctx)
        except EverloopError as error:
            from everloop.cli.remote import ended

            raise ended(error) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="everloop", message="%(prog)s %(version)s")
def el() -> None:
    """Run improvement loops and keep only improvements that survive evidence."""


def main() -> None:
    """Entry point of ``el`` and ``everloop``."""
    el(prog_name="el")


if __name__ == "__main__":
    main()
