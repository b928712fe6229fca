"""The eight tools of the MCP endpoint: name, schema, what it needs, and the one use case it calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from everloop.api import schemas
from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue
from everloop.service import run_control, run_messages, run_start, runs
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.service.permissions import Permission

NEWEST = 100
"""Most runs of one list."""

Act = Callable[[Installation, Json, Caller], Json]
"""Does what a tool does, for a caller who may and a run that is named."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: a use case under a name that agents see."""

    name: str
    """Name on the wire."""
    title: str
    """A few words for a list of tools."""
    description: str
    """What it does and when to use it, for the model that reads it."""
    schema: Json
    """JSON Schema of its arguments; every level is closed."""
    needs: Permission
    """Permission that is looked at before anything else, after that to read; a stop has one more."""
    act: Act
    """The use case."""
    destructive: bool = False
    """Whether it can end what goes on."""

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.needs is Permission.READ

    def call(self, installation: Installation, arguments: Json, caller: Caller) -> Json:
        """Permission first, then the arguments, then the use case; every refusal is an EverloopError."""
        caller.require(Permission.READ)
        caller.require(self.needs)
        if self.destructive and arguments.get("action") == "stop":
            caller.require(Permission.STOP)
        if self.reads:
            self._refuse_unknown(arguments)
        if "run" in cast(list[str], self.schema["required"]) and not isinstance(arguments.get("run"), str):
            raise InvalidRequest("run is required", why="it is the id of a run, as text")
        return self.act(installation, arguments, caller)

    def _refuse_unknown(self, arguments: Json) -> None:
        """What changes something has its fields looked at by the use case."""
        known = cast(Json, self.schema["properties"])
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            told = f"Known: {', '.join(known)}" if known else f"{self.name} takes none"
            raise InvalidRequest(f"argument {unknown[0]:.80} is not known", then=told)


def _list(installation: Installation, arguments: Json, caller: Caller) -> Json:
    del arguments
    found = runs.pages(installation, limit=NEWEST, caller=caller)
    return found.to_json() | ({} if found.items else {"start": runs.START})


def _run_status(installation: Installation, arguments: Json, caller: Caller) -> Json:
    compact = arguments.get("compact")
    if not isinstance(compact, bool | None):
        raise InvalidRequest("compact must be true or false", why=f"got {compact!r:.80}")
    return runs.document(installation, _run(arguments), compact=bool(compact), caller=caller)


def _status(installation: Installation, arguments: Json, caller: Caller) -> Json:
    return runs.live(installation, _run(arguments), arguments.get("since"), caller)


def _round(installation: Installation, arguments: Json, caller: Caller) -> Json:
    return runs.round(installation, _run(arguments), arguments.get("round"), caller)


def _start(installation: Installation, arguments: Json, caller: Caller) -> Json:
    return run_start.start_document(installation, arguments, caller)


def _directive(installation: Installation, arguments: Json, caller: Caller) -> Json:
    return run_messages.directive_document(installation, _run(arguments), _body(arguments), caller)


def _steer(installation: Installation, arguments: Json, caller: Caller) -> Json:
    return run_messages.steer_document(installation, _run(arguments), _body(arguments), caller)


def _control(installation: Installation, arguments: Json, caller: Caller) -> Json:
    return run_control.control_document(installation, _run(arguments), _body(arguments), caller)


def _body(arguments: Json) -> Json:
    """What REST has in the body."""
    return {name: value for name, value in arguments.items() if name != "run"}


def _run(arguments: Json) -> str:
    return str(arguments["run"])


def _of_run(body: Json) -> Json:
    """The schema of a body with the run, which REST has in the path, as its first argument."""
    properties, required = cast(Json, body["properties"]), cast(list[JsonValue], body["required"])
    run: Json = {"type": "string", "description": "Id of a run.", "minLength": 1, "maxLength": 64}
    named: Json = {"run": run | {"pattern": schemas.RUN}}
    return body | {"properties": named | properties, "required": ["run", *required]}


def _closed(properties: Json, *required: JsonValue) -> Json:
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


_COMPACT: Json = {"type": ["boolean", "null"], "description": "True: only the summary row, which is cheap to poll."}
_SINCE: Json = {
    "type": ["integer", "null"],
    "description": "next_cursor of the last answer: only newer events. Without it: the newest 200.",
    "minimum": 0,
    "maximum": schemas.MOST,
}
_ROUND: Json = {"type": "integer", "description": "Round, from 1.", "minimum": 1, "maximum": schemas.MOST_ROUND}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "rsi_list_runs",
        "List runs",
        "The runs of your project, newest update first, at most 100: state, round and target, best version, spend, "
        "owner. An empty list says how to start one.",
        _closed({}),
        Permission.READ,
        _list,
    ),
    Tool(
        "rsi_run_status",
        "Look at one run",
        "Everything there is to know of one run: summary, protocol, steps, versions with scores, gates, reviews, "
        "rounds, spend and caps, directives. Absent is null, never 0. compact: true gives only the summary.",
        _of_run(_closed({"compact": _COMPACT})),
        Permission.READ,
        _run_status,
    ),
    Tool(
        "rsi_status",
        "Follow one run",
        "What one run does right now: state, phase, who works with which tool, new events, steers, jobs, spend. Pass "
        "next_cursor of the last answer as since. The states finished, failed and stopped end a run.",
        _of_run(_closed({"since": _SINCE})),
        Permission.READ,
        _status,
    ),
    Tool(
        "rsi_round",
        "Look at one round",
        "One round of a run: decision, plan, interventions, candidates, reviews, summary.",
        _of_run(_closed({"round": _ROUND}, "round")),
        Permission.READ,
        _round,
    ),
    Tool(
        "rsi_start_run",
        "Start a run",
        "Start a run. It begins paid work: model requests up to limits.model_usd_cap and, unless dry_run is true, "
        "training; limits.usd_cap bounds both together. Ask before you start one that nobody asked for.",
        schemas.START,
        Permission.RUN,
        _start,
    ),
    Tool(
        "rsi_add_directive",
        "Add a directive",
        "Append a standing instruction to a run: its operator sees all of them in every turn from the next on.",
        _of_run(schemas.DIRECTIVE),
        Permission.RUN,
        _directive,
    ),
    Tool(
        "rsi_steer",
        "Steer a run",
        "Send one message to the operator of a run that is starting, running or paused; it is delivered at the next "
        "turn boundary. rsi_status shows it as queued, then delivered or dropped.",
        _of_run(schemas.STEER),
        Permission.RUN,
        _steer,
    ),
    Tool(
        "rsi_control",
        "Extend, stop or resume a run",
        "extend sets a new target (rounds); stop ends the run after the current round; resume goes on with a paused "
        "or stopped run. extend and resume begin paid work.",
        _of_run(schemas.CONTROL),
        Permission.RUN,
        _control,
        destructive=True,
    ),
)
"""The tools, in the order in which they are listed."""

BY_NAME = {tool.name: tool for tool in TOOLS}
"""The tools by name."""
