"""One call of a tool: done in a thread, told as a result or a refusal, recorded where it changes something."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import cast

from mcp_types import CallToolResult, TextContent
from sqlalchemy.exc import DBAPIError

from everloop.api import envelope
from everloop.api.mcp_tools import Tool
from everloop.errors import EverloopError, StoreUnavailable
from everloop.events import Json
from everloop.service import audit
from everloop.service.caller import Caller
from everloop.service.installation import Installation
from everloop.store.database import transient

DONE = 200
"""Status that the audit log has for a call that was carried out."""
DENIED = 403
"""Status of a refusal that is recorded whatever was asked."""
log = logging.getLogger("everloop.api")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool by somebody."""

    tool: Tool
    """What is called."""
    arguments: Json
    """With what."""
    caller: Caller
    """By whom."""
    request_id: str | None
    """Id of the request that carries it."""
    address: str | None
    """Address it comes from."""

    def answer(self, installation: Installation) -> CallToolResult:
        """What the tool tells, or ``{"code", "message"}`` marked as an error; nothing is raised."""
        try:
            told, status, code = self.tool.call(installation, self.arguments, self.caller), DONE, None
        except Exception as error:  # noqa: BLE001 - MCP would send the words of whatever it is
            known = self._known(error)
            envelope.note(known)
            status, code, message = envelope.wire_error(known)
            told = cast(Json, envelope.document(code, message))
        self._record(installation, status, code)
        text = TextContent(type="text", text=json.dumps(told, ensure_ascii=False))
        return CallToolResult(content=[text], structured_content=told, is_error=code is not None)

    def _known(self, error: Exception) -> EverloopError:
        """The error as one of the tree; what was not foreseen goes to the log alone."""
        if isinstance(error, EverloopError):
            return error
        if isinstance(error, DBAPIError) and transient(error):
            return StoreUnavailable("the database does not answer", why=str(error.orig))
        log.error("request %s failed: %s", self.request_id, self.tool.name, exc_info=error)
        why = f"request {self.request_id}" if self.request_id else ""
        return EverloopError("something went wrong here", why=why, then="See the server's log")

    def _record(self, installation: Installation, status: int, code: str | None) -> None:
        if self.tool.reads and status != DENIED:
            return
        run = self.arguments.get("run")
        try:
            audit.record(
                installation,
                caller=self.caller,
                surface="mcp",
                action=self.tool.name,
                target=run if isinstance(run, str) else None,
                status=status,
                code=code,
                request_id=self.request_id,
                address=self.address,
            )
        except Exception:
            # the change is made: an answer that says otherwise would be worse than a line in the log
            log.exception("request %s could not be recorded", self.request_id)
