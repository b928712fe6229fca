"""What all commands that ask a server share: the connection, refusals, exit codes, `--json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from everloop.cli import sentences
from everloop.errors import EverloopError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from everloop.client import Client, RemoteError
    from everloop.events import Json, JsonValue

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""Option of every command that prints something."""


class Ended(click.ClickException):
    """An expected error on its way to the terminal; exit code 1."""

    exit_code = sentences.FAILURE

    def show(self, file: IO[Any] | None = None) -> None:
        """Print to standard error."""
        click.echo(self.message, file=file, err=file is None)


class NotThere(Ended):
    """No such thing; exit code 3."""

    exit_code = sentences.NOT_FOUND


class Unfit(Ended):
    """The state of the thing does not allow it; exit code 4."""

    exit_code = sentences.CONFLICT


_ENDINGS = {404: NotThere, 409: Unfit}
_COMMAND = f"{__name__}.command"


def ended(error: EverloopError, command: str = "") -> Ended:
    """An error as it is told: of what is wrong on this side in full, of a refusal by a server in our own words."""
    from everloop.client import RemoteError

    if not isinstance(error, RemoteError):
        return _ENDINGS.get(error.status, Ended)(f"{error.code}: {local(error.message)}")
    return _ENDINGS.get(error.http or 0, Ended)(sentences.told(error.code, error.http, command))


def local(message: str) -> str:
    """A message of this side, with the command that shows what it speaks of."""
    return message.replace("List the runs there are", "See `el job run list`")


class RemoteGroup(click.Group):
    """A group whose commands ask a server; a refusal becomes a sentence of our own, Ctrl-C exit code 130."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command."""
        try:
            return super().invoke(ctx)
        except EverloopError as error:
            raise ended(error, str(ctx.meta.get(_COMMAND, ""))) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(sentences.INTERRUPTED)


@contextmanager
def connected() -> Iterator[Client]:
    """The client of the connection in force."""
    from everloop.client import Client

    # a refusal is told outside the command, which the words depend on
    ctx = click.get_current_context()
    words = [*ctx.command_path.split()[1:], *(["--dry-run"] if ctx.params.get("dry_run") else [])]
    ctx.meta[_COMMAND] = " ".join(words)

    with Client() as client:
        yield client


def document(found: Mapping[str, JsonValue]) -> None:
    """Print one JSON document."""
    click.echo(_safe(json.dumps(found, indent=2, ensure_ascii=False)))


def line(found: Mapping[str, JsonValue]) -> None:
    """Print a JSON document in one line, at once."""
    click.echo(_safe(json.dumps(found, ensure_ascii=False)))


def _safe(text: str) -> str:
    """JSON whose strings hold what cannot be printed as escapes only: a terminal would obey some of it."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(one: str) -> str:
    return one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1]


def missed() -> Callable[[RemoteError, float], None]:
    """Tells once, on standard error, that a server is away; more only when it was back in between."""
    from time import monotonic

    quiet_until = 0.0

    def tell(error: RemoteError, seconds: float) -> None:
        nonlocal quiet_until
        now = monotonic()
        if now >= quiet_until:
            what = "The server does not answer" if error.http is None else f"The server answered HTTP {error.http}"
            click.echo(f"{what}; trying again. Ctrl-C stops this.", err=True)
        quiet_until = now + seconds + 5.0

    return tell


def page(
    found: Json, as_json: bool, columns: Sequence[str], row: Callable[[Json], Sequence[JsonValue]], none: str = ""
) -> None:
    """Print a page of a list; where there is a next one, its cursor goes to standard error."""
    from everloop.cli import table
    from everloop.client import answers

    if as_json:
        document(found)
        return
    items = answers.items(found)
    table.echo(columns, [row(one) for one in items])
    if not items and none:
        click.echo(none, err=True)
    if isinstance(found.get("next_cursor"), str):
        click.echo(f"There are more: --cursor {table.plain(str(found['next_cursor']))}", err=True)
