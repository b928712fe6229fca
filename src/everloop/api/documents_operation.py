"""Documents of the server itself: refusals, whether it lives, whether it can work."""

from __future__ import annotations

from everloop.api.shapes import COUNT, TEXT, one_of, record, told
from everloop.events import Json

SCHEMAS: dict[str, Json] = {
    "Error": record(
        {
            "code": {"type": "string", "pattern": "^[A-Z0-9_]{1,128}$"},
            "message": told(TEXT, "What happened, why, and what to do next."),
        },
        description="Every refusal.",
    ),
    "Health": record({"status": one_of("ok"), "version": told(TEXT, "The release that answers.")}),
    "Readiness": record({"status": one_of("ready"), "workers": told(COUNT, "Workers that are alive.")}),
}
"""Name -> schema."""
EXAMPLES: dict[str, Json] = {
    "Health": {"status": "ok", "version": "0.1.0"},
    "Readiness": {"status": "ready", "workers": 1},
}
"""Name -> an example."""
