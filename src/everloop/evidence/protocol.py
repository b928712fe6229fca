"""The evaluation protocol: everything about how a run is judged, frozen and hashed before it starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast

from everloop.errors import InvalidRequest
from everloop.events import Json, JsonValue
from everloop.evidence.sets import rounds_carried
from everloop.values import built

MOST_ROUNDS = 1000
"""Most rounds of any run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProtocol:
    """A frozen evaluation plan."""

    domain: str
    """Domain of the items."""
    families: tuple[str, ...]
    """Families, in order."""
    judge: str
    """Judge id."""
    judge_version: str
    """Judge version."""
    verifier: str
    """Strength of the verifier: ``hard`` or ``soft``."""
    seed: int
    """Seed of every draw."""
    diag_per_family: int
    """Fresh items a family in each diagnosis."""
    admission_n: int
    """Items of the pre-test."""
    dev_n: int
    """Items of a dev set."""
    dev_use_cap: int
    """Uses after which a dev set is redrawn."""
    certify_pairs: int
    """Most fresh pairs of one certification."""
    blind_n: int
    """Items of a final gate."""
    calib_n: int
    """Gold items the judge must agree with."""
    eval_limit: int
    """Item evaluations one comparison may use."""
    gate: Mapping[str, JsonValue]
    """The policy with every parameter."""
    setting: str
    """Which defaults, and why."""
    floor: float
    """Largest fall of a family."""
    rule_share: float
    """Least share of well-formed answers."""
    trainer: str
    """Trainer of the student."""
    rounds: int
    """Target at the start."""
    collect_tasks: int
    """Tasks sampled a round in each family that is trained on."""
    starter_rows: int
    """Most gold rows a family gives to v0."""
    auditors: tuple[str, ...]
    """The panel that reviews every candidate."""
    student: Mapping[str, JsonValue] | None = None
    """The model that answers in a dry run, as configured at the start; None where the student is trained."""
    candidates_per_round: int = 1
    """Candidates an operator may try in a round."""
    final_alpha: float = 0.005
    """Error level of each claim of a final gate."""
    floor_evidence: float = 20.0
    """E-value of the losses from which a family has fallen."""
    failure_bound: float = 0.02
    """Largest excess of failed evaluations over the baseline's, as a share of items."""

    def to_json(self) -> Json:
        """Every field as JSON."""
        document: dict[str, JsonValue] = {field.name: getattr(self, field.name) for field in fields(self)}
        document |= {"families": list(self.families), "auditors": list(self.auditors)}
        return document | {"gate": dict(self.gate), "student": dict(self.student) if self.student else None}

    @property
    def sha256(self) -> str:
        """SHA-256 hex of the canonical JSON."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def from_json(cls, document: Json, sha256: str | None = None) -> EvaluationProtocol:
        """The inverse of `to_json`. InvalidRequest for unknown or missing keys, or when the hash does not fit."""
        names = {field.name for field in fields(cls)}
        odd = sorted(names.symmetric_difference(document))
        if odd:
            raise InvalidRequest(f"the protocol's {odd[0]} is unknown or missing")
        protocol = built(
            cls,
            document,
            families=tuple(cast(list[str], document["families"])),
            auditors=tuple(cast(list[str], document["auditors"])),
        )
        if sha256 is not None and protocol.sha256 != sha256:
            raise InvalidRequest("the protocol was changed", why="its hash differs from the recorded one")
        return protocol

    def carries(self, supply: Mapping[str, int], *, final_gates: int = 1) -> int:
        """Most rounds, up to `MOST_ROUNDS`, that fresh items last for; `supply`: family -> distinct items.

        A run whose target is beyond it ends there, with its final gate: what is single-use is never used twice.
        """
        return rounds_carried(lambda rounds: self.needs(rounds, final_gates), supply, MOST_ROUNDS)

    def needs(self, rounds: int, final_gates: int = 1) -> dict[str, int]:
        """Set -> most items a family gives in so many rounds, with so many final gates."""
        families = len(self.families)

        def each(n: int) -> int:
            return -(-n // families)

        tries = rounds * self.candidates_per_round
        return {
            "train": self.starter_rows + tries * self.collect_tasks,
            "diag": rounds * self.diag_per_family + tries * each(self.admission_n),
            "dev": (tries + 1) * each(self.dev_n),
            "certify": (tries + 1) * each(self.certify_pairs),
            "blind": final_gates * each(self.blind_n),
            "calib": each(self.calib_n),
        }
