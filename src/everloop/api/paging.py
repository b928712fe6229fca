"""Query parameters of lists."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]
"""Query parameter: where to go on."""
