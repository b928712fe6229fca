"""Routes of a project's keys: list, make, revoke; for Admins who signed in."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse

from everloop.api import documents_identity
from everloop.api.described import body, refusals, reply
from everloop.api.numbers import Limit, number
from everloop.api.paging import Cursor
from everloop.api.place import Place
from everloop.api.routes_identity import PROJECT, Project, Workspace
from everloop.api.routes_members import ManagingBody
from everloop.api.signed import Signed
from everloop.service import administration

router = APIRouter(prefix=f"{PROJECT}/keys", tags=["keys"])

Prefix = Annotated[str, Path(description="Public part of a key, as the list tells it.", examples=["6f4de2a43d87"])]
"""Path parameter: a key's prefix."""


@router.get("", responses=reply("Keys") | refusals(404, 422))
def list_keys(
    place: Place,
    caller: Signed,
    workspace_id: Workspace,
    project_id: Project,
    limit: Limit = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the keys of your project, newest first, without their secrets."""
    return JSONResponse(
        administration.key_page(place, workspace_id, project_id, caller, number(limit), cursor).to_json()
    )


@router.post(
    "",
    responses=reply("NewKey", 201) | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(documents_identity.KEY_REQUEST, {"name": "nightly", "kind": "automation", "expires_days": 90}),
)
def create_key(
    place: Place, caller: Signed, workspace_id: Workspace, project_id: Project, document: ManagingBody
) -> JSONResponse:
    """Make a key of your project. The answer is the only place where its secret is told."""
    return JSONResponse(administration.create_key(place, workspace_id, project_id, document, caller), 201)


@router.delete("/{prefix}", responses=reply("Key") | refusals(403, 404))
def revoke_key(
    place: Place, caller: Signed, workspace_id: Workspace, project_id: Project, prefix: Prefix
) -> JSONResponse:
    """Revoke a key; it is refused from its next request on. Again is no error."""
    return JSONResponse(administration.revoke_key(place, workspace_id, project_id, prefix, caller))
