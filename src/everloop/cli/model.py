"""``el model``: which models this installation may use, their keys and prices."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everloop.cli import remote, table
from everloop.fields import MISSING, dollars, word

if TYPE_CHECKING:
    from everloop.events import Json, JsonValue
    from everloop.gateway.base import ModelEntry
    from everloop.service.installation import Installation

USES = ("operator", "auditor", "student", "candidate")
PORT = 8765
"""`everloop.gateway.local.PORT`; repeated, as the help of a command loads nothing heavy."""
MOST_SLOTS = 16
"""`everloop.gateway.local.MOST_SLOTS`."""
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_PRICE = click.FloatRange(min=0)


@click.group()
def model() -> None:
    """Configure models, try them, and serve a small one on this machine."""


@model.command()
@click.argument("name")
@click.option("--provider", default="openai", show_default=True, help="openai (any compatible), anthropic, ...")
@click.option("--model", "model_id", required=True, metavar="ID", help="The model's id at its provider.")
@click.option("--base-url", default="", metavar="URL", help="Endpoint; default: the provider's own.")
@click.option("--key-env", metavar="VAR", help="Environment variable that holds the key when it is used.")
@click.option("--key-stdin", is_flag=True, help="Read the key from standard input, or ask for it without echo.")
@click.option("--for", "uses", multiple=True, type=click.Choice(USES), help="Use of the model; may be repeated.")
@click.option("--input-price", type=_PRICE, metavar="USD", help="US dollars for a million input tokens.")
@click.option("--output-price", type=_PRICE, metavar="USD", help="US dollars for a million output tokens.")
@click.option("--max-tokens", type=int, default=2048, show_default=True, help="Most output tokens of a call.")
@click.option("--concurrency", type=int, default=8, show_default=True, help="Calls at once, in each process.")
@click.option("--requests-per-minute", type=int, help="Requests a minute, in each process.")
@click.option("--set", "settings", multiple=True, metavar="KEY=JSON", help="Setting of every call; may be repeated.")
@click.option("--allow-http", is_flag=True, help="Accept plain http to a host outside private networks.")
@_JSON
def add(
    name: str,
    provider: str,
    model_id: str,
    base_url: str,
    key_env: str | None,
    key_stdin: bool,
    uses: Sequence[str],
    input_price: float | None,
    output_price: float | None,
    max_tokens: int,
    concurrency: int,
    requests_per_minute: int | None,
    settings: Sequence[str],
    allow_http: bool,
    as_json: bool,
) -> None:
    """Configure a model, or replace the one of that name and its key.

    The key itself is never an argument: arguments of a command can be read by others.
    """
    from everloop.gateway.base import KeySource, ModelEntry, Use

    if key_stdin and key_env is not None:
        raise click.UsageError("give --key-env or --key-stdin, not both")
    source = KeySource.FILE if key_stdin else KeySource.ENVIRONMENT if key_env is not None else KeySource.NONE
    entry = ModelEntry(
        name=name,
        provider=provider,
        model=model_id,
        base_url=base_url,
        key_source=source,
        key_name=key_env or "",
        uses=tuple(dict.fromkeys(Use(use) for use in uses)),
        input_usd_per_mtok=input_price,
        output_usd_per_mtok=output_price,
        max_tokens=max_tokens,
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
        settings=_settings(settings),
    )
    _add(entry, _key() if key_stdin else None, allow_http, as_json)


@model.command("list")
@_JSON
def list_models(as_json: bool) -> None:
    """List the configured models; the first of a use is its default."""
    from everloop.service import models

    with _installation() as installation:
        entries = models.listing(installation)
    if as_json:
        remote.document({"models": [_document(entry) for entry in entries]})
        return
    none = "No model is configured. Add one: el model add NAME --model ID, or el model serve-local --register"
    told: list[list[JsonValue]] = [
        [one.name, one.provider, one.model, ", ".join(one.uses), _price(one)] for one in entries
    ]
    table.echo(("MODEL", "PROVIDER", "ID", "USES", "PRICE"), told, none)


@model.command()
@click.argument("name")
@_JSON
def show(name: str, as_json: bool) -> None:
    """Show what is configured for a model."""
    from everloop.service import models

    with _installation() as installation:
        _show(_document(models.find(installation, name)), as_json)


@model.command()
@click.argument("name")
@_JSON
def test(name: str, as_json: bool) -> None:
    """Ask a model for one word, for five cents at most."""
    from everloop.service import models

    with _installation() as installation:
        told = models.test(installation, name)
    if not as_json:
        usd = told["usd"]
        told = {**told, "usd": dollars(usd) if isinstance(usd, float) else MISSING}
    _show(told, as_json)


@model.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget a model and delete its key file."""
    from everloop.service import models

    with _installation() as installation:
        models.remove(installation, name)
    click.echo(f"Removed {name}.")


@model.command("serve-local")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0: a free one.")
@click.option("--ready-file", type=click.Path(path_type=Path, dir_okay=False), help="File that says where it answers.")
@click.option("--slots", type=click.IntRange(1, MOST_SLOTS), default=1, show_default=True, help="Requests at once.")
@click.option("--register/--no-register", default=False, show_default=True, help="Configure it as smollm2.")
def serve_local(port: int, ready_file: Path | None, slots: int, register: bool) -> None:
    """Serve the small model SmolLM2 on this machine, in the foreground.

    It needs no key and costs nothing. Ctrl-C (or SIGTERM) ends it.
    """
    from everloop.cli.ready_line import announced
    from everloop.gateway.local import serve, weights
    from everloop.service import local_model

    if register and not port:
        raise click.UsageError("--register needs the port by its number")
    weights()  # what is not installed is not registered either
    entry = local_model.entry(f"http://127.0.0.1:{port}/v1", slots)
    if register:
        _add(entry, None, False, False, local=True)
    elif port:
        click.echo(f"To configure it: {_line(entry)}", err=True)
    with announced(ready_file) as ready:
        serve(port, ready, slots)


def _add(entry: ModelEntry, key: str | None, allow_http: bool, as_json: bool, *, local: bool = False) -> None:
    from everloop.service import local_model, models

    with _installation() as installation:
        known = next((one for one in models.listing(installation) if one.name == entry.name), None)
        if local:
            local_model.refuse_foreign(known)
        added = models.add(installation, entry, key, allow_http=allow_http)
    if as_json:
        remote.document({**_document(added), "updated": known is not None})
        return
    told = "Added" if known is None else "Updated"
    click.echo(f"{told} {entry.name}. Try it: el doctor, then el model test {entry.name}", err=local)


def _key() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("API key", hide_input=True, err=True))
    return sys.stdin.readline()


def _settings(given: Sequence[str]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for one in given:
        name, equals, text = one.partition("=")
        try:
            value = json.loads(text, parse_constant=_no_number)
        except ValueError as error:
            what = f"{name!r} needs a JSON value: --set {name}=VALUE" if equals else "KEY=JSON is needed"
            raise click.BadParameter(what, param_hint="'--set'") from error
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice", param_hint="'--set'")
        found[name] = value
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _line(entry: ModelEntry) -> str:
    """The command that configures the local model."""
    more = " ".join(f"--set {name}={json.dumps(value)}" for name, value in entry.settings.items())
    return (
        f"el model add {entry.name} --model {entry.model} --base-url {entry.base_url} --for student --input-price 0"
        f" --output-price 0 --max-tokens {entry.max_tokens} --concurrency {entry.concurrency} {more}"
    )


def _document(entry: ModelEntry) -> Json:
    from everloop.gateway.entries import document_of

    return document_of(entry)


def _price(entry: ModelEntry) -> str:
    if entry.input_usd_per_mtok is None or entry.output_usd_per_mtok is None:
        return "price list"
    return f"{dollars(entry.input_usd_per_mtok)} / {dollars(entry.output_usd_per_mtok)} a million tokens"


def _show(document: Mapping[str, JsonValue], as_json: bool) -> None:
    if as_json:
        remote.document(document)
        return
    width = max(map(len, document))
    for name, value in document.items():
        told = (
            json.dumps(value) if isinstance(value, dict | list) and value else word(value or None if value != 0 else 0)
        )
        click.echo(f"{name.replace('_', ' '):{width}}  {told}")


@contextmanager
def _installation() -> Iterator[Installation]:
    from everloop.cli.configuration import settings
    from everloop.service.installation import open_installation

    installation = open_installation(settings())
    try:
        yield installation
    finally:
        installation.close()
