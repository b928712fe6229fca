"""What the command line says of a refused request: its own words for each code, never the server's message.

A server's message may repeat what was sent, a key included, and may come from another server altogether.
"""

from __future__ import annotations

SIGN_IN = "Look at `el auth status`, then `el auth login` or `el auth config`."
SCOPE = "Look at `el auth status --check`; an Admin of the project can make a key that may (`el key create`)."
WAIT = "Wait a little and try again; if it stays so, ask whoever runs the server."
FIELDS = "Check the options with `--help`; the reason itself is in the API's answer."

_SAID = {
    "UNAUTHORIZED": ("The key is missing, not known, expired or revoked.", SIGN_IN),
    "ACCESS_DENIED": ("This key may not do that.", SCOPE),
    "PROJECT_ACCESS_DENIED": ("The key belongs to another workspace or project.", SCOPE),
    "WORKSPACE_ACCESS_DENIED": ("The key belongs to another workspace.", SCOPE),
    "NOT_FOUND": (
        "There is no such thing here, or this server does not know it.",
        "Check the id and `el auth status`.",
    ),
    "METHOD_NOT_ALLOWED": (
        "This server does not know that request.",
        "Check that client and server are of one version.",
    ),
    "RSI_RUN_NOT_FOUND": ("No run of that id is visible to this key.", "See `el job run list`."),
    "JOB_NOT_FOUND": ("No job of that id is visible to this key.", "See `el job list`."),
    "TRAIN_JOB_NOT_FOUND": ("No job of that id is visible to this key.", "See `el job list`."),
    "CHECKPOINT_NOT_FOUND": ("No such checkpoint is visible to this key.", "See `el checkpoint list`."),
    "CONFLICT": ("Its state does not allow that, or the name is taken.", "Look at it again before the next try."),
    "RSI_CONFLICT": (
        "The run's id exists, its state does not allow that, or no run slot is free.",
        "Look at it with `el job run get RUN`, or start under another id.",
    ),
    "RSI_RUN_NOT_ACTIVE": ("The run has ended and takes no messages.", "Extend it, or start another."),
    "JOB_REQUEST_CONFLICT": ("That job id is bound to another request.", "Use another id."),
    "TRAIN_JOB_IDEMPOTENCY_CONFLICT": ("That request id was used for another request.", "Use a new `--request-id`."),
    "PAYLOAD_TOO_LARGE": ("The request is longer than the server takes.", "Send less at once."),
    "INVALID_RSI_REQUEST": ("The server does not accept a field of the request.", FIELDS),
    "INVALID_STEER": ("A message needs 1 to 4000 characters.", "Send text that is not blank, and shorter."),
    "INVALID_DIRECTIVE": ("A directive needs 1 to 4000 characters.", "Send text that is not blank, and shorter."),
    "INVALID_LIMIT": ("A page has 1 to 100 items.", "Ask for as many."),
    "INVALID_CURSOR": ("That cursor is of no page of this list.", "Begin again without `--cursor`."),
    "INVALID_TRAIN_JOB_SPEC": ("The train job cannot be carried out as it is written.", "See docs/train-jobs.md."),
    "INVALID_TRAIN_JOB_METADATA": ("Labels of a job are short texts.", "See docs/train-jobs.md."),
    "INVALID_REQUEST_ID": ("A request id has 1 to 128 printable characters.", "Use another `--request-id`."),
    "LOG_CURSOR_EXPIRED": ("That place in the log is gone.", "Read the log without `--cursor`."),
    "MODEL_NOT_CONFIGURED": ("A model the run needs is not configured at the server.", "Ask whoever runs the server."),
    "RATE_LIMITED": ("Too many requests in a minute.", "Wait a minute, then try again."),
    "SERVICE_UNAVAILABLE": ("The server cannot work right now.", WAIT),
    "RSI_CONTROL_UNCONFIGURED": ("No loop service is connected to this server.", WAIT),
    "RSI_CONTROL_UNAVAILABLE": ("The loop service cannot be reached.", WAIT),
    "RSI_CONTROL_TIMEOUT": ("The loop service did not answer.", WAIT),
    "INTERNAL_SERVER_ERROR": ("The server ran into an error of its own.", WAIT),
    "NETWORK_ERROR": (
        "The server does not answer.",
        "Look at `el auth status` and whether the server runs; `el up` starts one on this machine.",
    ),
    "INVALID_RESPONSE": (
        "The answer is not one of an Everloop server, or is damaged.",
        "Check the base URL with `el auth status`, and that client and server are of one version.",
    ),
    "AUTH_CHECK_UNCONFIRMED": (
        "The server did not confirm that key and its project; nothing was saved.",
        "Check the base URL, and that the key is one of a project.",
    ),
    "AUTH_LOGIN_EXPIRED": ("Nobody let this command line in in time.", "Run `el auth login` again."),
}

_BY_STATUS = {
    401: _SAID["UNAUTHORIZED"],
    403: _SAID["ACCESS_DENIED"],
    404: _SAID["NOT_FOUND"],
    405: _SAID["METHOD_NOT_ALLOWED"],
    409: _SAID["CONFLICT"],
    413: _SAID["PAYLOAD_TOO_LARGE"],
    422: ("The server does not accept the request.", FIELDS),
    429: _SAID["RATE_LIMITED"],
}
_DRY = (
    "The server does not accept the dry run: most often no student model is configured there.",
    "Get one where the server runs: `el model serve-local --register`, or `el model add NAME --for student`.",
)
OF_COMMAND = {
    ("job run start", "INVALID_RSI_REQUEST"): (
        "The server does not accept the run: a domain, plug-in, model or split of the goal that it does not have.",
        "Check --domain, --option and --goal; the reason itself is in the API's answer.",
    ),
    ("job run start --dry-run", "INVALID_RSI_REQUEST"): _DRY,
    ("job run start --dry-run", "MODEL_NOT_CONFIGURED"): _DRY,
    ("job run start", "MODEL_NOT_CONFIGURED"): (
        "A model the run needs is not configured at the server.",
        "Configure one where the server runs: `el model add NAME --for operator`; see `el model list`.",
    ),
    ("job run start", "RSI_CONFLICT"): (
        "A run of that id exists, or no run slot is free.",
        "See `el job run list`; start under another id, or stop a run.",
    ),
    ("job run resume", "RSI_CONFLICT"): (
        "Only a run that is paused or stopped, and not at a cap, can be resumed.",
        "Look at it with `el job run get RUN`; one that has finished goes on with `el job run extend`.",
    ),
    ("job run stop", "RSI_CONFLICT"): (
        "Only a run that has not ended can be stopped.",
        "Look at it with `el job run get RUN`.",
    ),
    ("job run extend", "RSI_CONFLICT"): (
        "The run cannot be extended: it has failed, closes just now, is at a cap, or is past that round.",
        "Look at it with `el job run get RUN`; --rounds counts from the run's start.",
    ),
    ("job run round", "NOT_FOUND"): ("The run has not begun that round.", "See its rounds: `el job run get RUN`."),
    ("job run live", "INVALID_RSI_REQUEST"): ("No such place in the run's events.", "Ask with a smaller --since."),
    ("job stop", "CONFLICT"): (
        "The job has ended, or belongs to a run.",
        "Look at it with `el job get JOB`; a run's job ends with `el job run stop RUN`.",
    ),
    ("job result", "CONFLICT"): ("The job has not ended.", "Wait: `el job log JOB --follow`."),
    ("job submit", "CONFLICT"): (
        "The queue of this project is full.",
        "Wait until a job has ended, or stop one: `el job list`.",
    ),
}
"""(command, code) -> what the code means there, and what to do."""
_ELSE = ("The server refused the request.", "Check the base URL with `el auth status`.")

NOT_FOUND, CONFLICT, FAILURE, INTERRUPTED = 3, 4, 1, 130
"""Exit codes: no such thing, its state does not allow it, any other failure, Ctrl-C."""


def told(code: str, http: int | None, command: str = "") -> str:
    """What happened, the code, the status, and on the next line what to do; `command` is like ``job run start``."""
    if code in _SAID:
        sentence, then = OF_COMMAND.get((command, code), _SAID[code])
    else:
        # a code that is not known may be anything, so it is not repeated either
        code, (sentence, then) = "HTTP_ERROR", _by_status(http)
    status = "" if http is None else f" (HTTP {http})"
    return f"{code}: {sentence}{status}\n{then}"


def _by_status(http: int | None) -> tuple[str, str]:
    if http is not None and http >= 500:
        return _SAID["INTERNAL_SERVER_ERROR" if http == 500 else "SERVICE_UNAVAILABLE"]
    return _BY_STATUS.get(http or 0, _ELSE)
