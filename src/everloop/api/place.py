"""The installation that a request is about."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from everloop.service.installation import Installation


def place(request: Request) -> Installation:
    """The installation the application was made for."""
    found = request.app.state.installation
    assert isinstance(found, Installation)
    return found


async def _place(request: Request) -> Installation:
    # a coroutine, so that it does not cost a hop to a thread
    return place(request)


Place = Annotated[Installation, Depends(_place)]
"""Parameter type: the installation."""
