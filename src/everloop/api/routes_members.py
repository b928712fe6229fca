"""Routes of a project's members and its audit log; Admins who signed in change and read them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import JSONResponse, Response

from everloop.api import documents_identity
from everloop.api.bodies import json_body
from everloop.api.described import Responses, body, refusals, reply
from everloop.api.numbers import Limit, number
from everloop.api.paging import Cursor
from everloop.api.place import Place
from everloop.api.routes_identity import PROJECT, Project, Workspace
from everloop.api.signed import Signed
from everloop.errors import InvalidRequest
from everloop.events import JsonValue
from everloop.service import administration
from everloop.service.identity import own_project
from everloop.service.permissions import Permission

router = APIRouter(tags=["members"])

Person = Annotated[str, Path(description="Id of a person.", examples=["owner"])]
"""Path parameter: a person's id."""


def _manages(place: Place, caller: Signed, workspace_id: Workspace, project_id: Project) -> None:
    own_project(place, workspace_id, project_id, caller, Permission.MANAGE)


ManagingBody = Annotated[JsonValue, Depends(json_body(InvalidRequest, before=_manages))]
"""Parameter type: the parsed body of a change in a project, read from who manages it."""
_GONE: Responses = {204: {"description": "They are no member (any more)."}}


@router.get(f"{PROJECT}/members", responses=reply("Members") | refusals(404))
def list_members(place: Place, caller: Signed, workspace_id: Workspace, project_id: Project) -> JSONResponse:
    """List the members of your project, longest there first."""
    return JSONResponse(administration.members(place, workspace_id, project_id, caller).to_json())


@router.get(f"{PROJECT}/member-candidates", responses=reply("MemberCandidates") | refusals(404, 422))
def list_member_candidates(
    place: Place,
    caller: Signed,
    workspace_id: Workspace,
    project_id: Project,
    q: Annotated[str, Query(description="Part of a name or an e-mail address; up to 320 printable characters.")] = "",
) -> JSONResponse:
    """Find people who are no members of your project; at most 20."""
    return JSONResponse(administration.candidates(place, workspace_id, project_id, q, caller).to_json())


@router.put(
    PROJECT + "/members/{user_id}",
    responses=reply("Member") | refusals(403, 404, 409, 413, 422),
    openapi_extra=body(documents_identity.MEMBERSHIP, {"role": "developer"}),
)
def set_member(
    place: Place, caller: Signed, workspace_id: Workspace, project_id: Project, user_id: Person, document: ManagingBody
) -> JSONResponse:
    """Make a person a member of your project, or give them another role. The last Admin stays one."""
    return JSONResponse(administration.set_member(place, workspace_id, project_id, user_id, document, caller))


@router.delete(PROJECT + "/members/{user_id}", status_code=204, responses=_GONE | refusals(403, 404, 409))
def remove_member(
    place: Place, caller: Signed, workspace_id: Workspace, project_id: Project, user_id: Person
) -> Response:
    """End a membership and revoke the keys that the person made here. The last Admin stays."""
    administration.remove_member(place, workspace_id, project_id, user_id, caller)
    return Response(status_code=204)


@router.get(f"{PROJECT}/audit", responses=reply("Audit") | refusals(404, 422))
def list_audit(
    place: Place,
    caller: Signed,
    workspace_id: Workspace,
    project_id: Project,
    limit: Limit = None,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the changes and refusals in your project, newest first."""
    return JSONResponse(
        administration.audited(place, workspace_id, project_id, caller, number(limit), cursor).to_json()
    )
