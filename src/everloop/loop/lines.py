"""The two lines of a run: the working line, which may be wrong, and the certified line, which is the only claim."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import cast

from everloop.events import Json, JsonValue
from everloop.evidence.gates.base import GateState
from everloop.values import built


@dataclass(frozen=True, slots=True)
class Artifact:
    """A version or candidate that exists."""

    name: str
    """``v0`` or the candidate it came from, ``r2c1``."""
    checkpoint: str
    """Its folder (a checkpoint, or a prompt), relative to the run's folder."""
    sha256: str
    """Hash of its weights or of its prompt."""
    rows: int
    """Rows its last training used, or worked examples of its prompt."""
    known_rows: str
    """Rows known to it: a file relative to the run's folder; what replay draws from. Empty where nothing is trained."""
    plan: Json | None = None
    """The plan that made it; None for a base that was trained."""
    type: str = "checkpoint"
    """``checkpoint``, or ``config`` for a prompt."""

    def to_json(self) -> dict[str, JsonValue]:
        """The artifact object of the run document."""
        return {"type": self.type, "path": self.checkpoint, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class DevSet:
    """The dev set in use, with the head's outcomes on it."""

    generation: int
    """1 for the first set drawn."""
    start: dict[str, int]
    """Where in each family's stream the set begins; with the run's seed this *is* the set."""
    head: str
    """Outcomes of the working head, one character an item: ``1`` right, ``0`` wrong, ``-`` missing."""
    uses: int = 0
    """Candidates screened on it."""

    @property
    def head_rate(self) -> float:
        """Share right among the answered; 0 when none was."""
        answered = len(self.head) - self.head.count("-")
        return self.head.count("1") / answered if answered else 0.0


@dataclass(frozen=True, slots=True)
class Control:
    """The control arm: the base trained on its own rows again, one block a round, without the loop's choices."""

    checkpoint: str
    """Folder of its newest checkpoint, relative to the run's folder."""
    sha256: str
    """Hash of its weights."""
    rows: int
    """Rows of a block (the base's own)."""
    steps: int
    """Optimiser steps beyond the base, over all blocks."""
    blocks: int
    """Blocks done."""
    missed: int = 0
    """Steps of blocks that failed; an arm that missed any is no control, and nothing is claimed against it."""
    pending: Json | None = None
    """The block being trained beside a round (``name``, ``round``, ``steps``); None when all are done."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Where a run stands; small, replaced whole in the transaction of the phase that changes it."""

    head: Artifact
    """End of the working line: where the next round starts."""
    certified: Artifact
    """The best version."""
    version: str
    """Its name, ``v0``, ``v1``, ..."""
    base: Artifact
    """v0."""
    gate: GateState = field(default_factory=GateState)
    """What the policy remembers."""
    dev: DevSet | None = None
    """The dev set in use; None: to be drawn."""
    moved: int = 0
    """Round since which rejections count against this head."""
    certified_round: int = 0
    """Round of the last certification that was shown."""
    control: Control | None = None
    """The control arm; None until the base exists, and where nothing is trained."""

    def to_json(self) -> Json:
        """As JSON."""
        return cast(Json, asdict(self) | {"gate": self.gate.to_json()})

    @classmethod
    def from_json(cls, document: Json) -> Lines:
        """The inverse of `to_json`."""
        dev, control = cast(Json | None, document["dev"]), cast(Json | None, document["control"])
        return built(
            cls,
            document,
            head=_artifact(document["head"]),
            certified=_artifact(document["certified"]),
            base=_artifact(document["base"]),
            gate=built(GateState, cast(Json, document["gate"])),
            dev=built(DevSet, dev) if dev else None,
            control=built(Control, control) if control else None,
        )

    def move(self, head: Artifact, gate: GateState, number: int) -> Lines:
        """The working line moves to `head`; the dev set must be drawn anew, or its luck would stay."""
        return replace(self, head=head, gate=gate, moved=number, dev=None)

    def certify(self, version: str, gate: GateState, number: int) -> Lines:
        """The working head becomes the certified version."""
        return replace(self, certified=self.head, version=version, gate=gate, certified_round=number)

    def revert(self, gate: GateState) -> Lines:
        """The working line goes back to the certified version, and to what was rejected against it."""
        return replace(self, head=self.certified, gate=gate, moved=self.certified_round, dev=None)


def _artifact(document: JsonValue) -> Artifact:
    return built(Artifact, cast(Json, document))
