"""Which configured model takes which role of a run; decided, and checked for a price, before the run is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from everloop.errors import InvalidRequest
from everloop.events import Json
from everloop.gateway.base import ModelEntry, Use
from everloop.gateway.prices import price_of
from everloop.service import models
from everloop.service.installation import Installation
from everloop.service.request import StartRequest

if TYPE_CHECKING:
    from everloop.operators.base import Auditor, Operator

HOW = {
    Use.STUDENT: "Run `el model serve-local --register`, or configure any with `el model add NAME --for student`",
    Use.OPERATOR: "Configure one with `el model add NAME --for operator`, or use prompt-search or curriculum",
    Use.AUDITOR: "Configure one with `el model add NAME --for auditor`, or leave it out of options.auditors",
}
"""Role -> how to get a model for it."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The models of a run; None where the role is not taken by a model."""

    operator: ModelEntry | None
    """Proposes."""
    auditor: ModelEntry | None
    """Reviews; the operator's model where no other is configured."""
    student: ModelEntry | None
    """Is measured, in a dry run."""

    @property
    def entries(self) -> tuple[ModelEntry, ...]:
        """Those there are."""
        return tuple(entry for entry in (self.operator, self.auditor, self.student) if entry)

    @property
    def paid(self) -> bool:
        """Whether any of them costs money."""
        return any((one.input_usd_per_mtok, one.output_usd_per_mtok) != (0, 0) for one in self.entries)

    def names(self) -> Json:
        """Role -> name, as the run's options keep it."""
        found = {"operator_model": self.operator, "auditor_model": self.auditor, "student_model": self.student}
        return {role: entry.name if entry else None for role, entry in found.items()}


def choose(
    installation: Installation, request: StartRequest, operator: Operator, auditors: tuple[Auditor, ...]
) -> Roles:
    """The models a start asks for, or the first configured for each role it needs.

    InvalidRequest when a role that is needed has none, with how to get one; ModelNotConfigured for an unknown name or a
    model without a known price.
    """
    options = request.options
    _refuse_unused(options.operator_model, "operator_model", operator.asks)
    _refuse_unused(options.auditor_model, "auditor_model", any(one.asks for one in auditors))
    first = None
    if operator.asks:
        first = _of(installation, options.operator_model, Use.OPERATOR) or _missing("operator", Use.OPERATOR)
    second = None
    if any(one.asks for one in auditors):
        second = _of(installation, options.auditor_model, Use.AUDITOR) or first or _missing("auditor", Use.AUDITOR)
    student = None
    if request.dry_run:
        student = _of(installation, request.student_model, Use.STUDENT) or _missing("student", Use.STUDENT)
    roles = Roles(first, second, student)
    for entry in roles.entries:
        price_of(entry)
    return roles


def _refuse_unused(name: str | None, option: str, used: bool) -> None:
    if name is not None and not used:
        why = "neither the operator nor an auditor of this run is a language model in that role"
        raise InvalidRequest(f"options.{option} names {name}, which nobody would ask", why=why, then="Leave it out")


def _of(installation: Installation, name: str | None, use: Use) -> ModelEntry | None:
    return models.find(installation, name) if name else models.default_for(installation, use)


def _missing(role: str, use: Use) -> ModelEntry:
    what = "a dry run" if use is Use.STUDENT else f"this {role}"
    raise InvalidRequest(f"{what} needs a model, and no {role} model is configured", then=HOW[use])
