"""Routes of who one is and where: ``/me``, workspaces, projects, limits; all of them only look."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import JSONResponse

from everloop.api.described import refusals, reply
from everloop.api.place import Place
from everloop.api.signed import Signed
from everloop.service import identity

router = APIRouter(tags=["identity"])

Workspace = Annotated[str, Path(description="Id of a workspace.", examples=["local"])]
"""Path parameter: a workspace's id."""
Project = Annotated[str, Path(description="Id of a project.", examples=["local"])]
"""Path parameter: a project's id."""
PROJECT = "/workspaces/{workspace_id}/projects/{project_id}"
"""Path of a project."""


@router.get("/me", responses=reply("Me") | refusals())
def get_me(place: Place, caller: Signed) -> JSONResponse:
    """Who you are: how you are known, what you may do, in which workspace and project."""
    return JSONResponse(identity.me(place, caller))


@router.get("/workspaces", responses=reply("Workspaces") | refusals())
def list_workspaces(place: Place, caller: Signed) -> JSONResponse:
    """List the workspaces of the projects you see."""
    return JSONResponse(identity.workspace_page(place, caller).to_json())


@router.get("/workspaces/{workspace_id}/projects", responses=reply("Projects") | refusals(404))
def list_projects(place: Place, caller: Signed, workspace_id: Workspace) -> JSONResponse:
    """List the projects you see in a workspace: a key its own, a person those they are a member of."""
    return JSONResponse(identity.project_page(place, workspace_id, caller).to_json())


@router.get(PROJECT, responses=reply("Project") | refusals(404))
def get_project(place: Place, caller: Signed, workspace_id: Workspace, project_id: Project) -> JSONResponse:
    """A project you see."""
    return JSONResponse(identity.project(place, workspace_id, project_id, caller))


@router.get(f"{PROJECT}/limits", responses=reply("ProjectLimits") | refusals(404))
def get_limits(place: Place, caller: Signed, workspace_id: Workspace, project_id: Project) -> JSONResponse:
    """How much may be asked of this installation."""
    return JSONResponse(identity.limits(place, workspace_id, project_id, caller))
