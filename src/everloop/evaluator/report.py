"""What a calibration says of itself: counts, figures on what was held out, and why it abstains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import cast

from everloop.evaluator.figures import Area
from everloop.events import Json
from everloop.values import built


@dataclass(frozen=True, slots=True)
class Probe:
    """How one kind of change without substance is scored."""

    n: int
    """Changes of this kind, made from candidates that were held out."""
    raw: float
    """Their mean probability before the penalty, 0..1."""
    value: float
    """Their greatest score after the penalty, 0..1."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of the evaluator; a figure that was not measured is None."""

    abstained: str = ""
    """Why nothing is scored; empty when it scores."""
    n: int = 0
    """Verdicts, labels of people among them."""
    positives: int = 0
    """Good ones."""
    negatives: int = 0
    """Bad ones."""
    labels: int = 0
    """Of these, said by people."""
    needed: int = 0
    """Verdicts that are still needed before anything is fitted."""
    split: str | None = None
    """``run`` or ``time``: how verdicts were held out; None when nothing was."""
    repeated: int = 0
    """Verdicts left out of the fit because the very same proposal is held out."""
    training_n: int = 0
    """Verdicts it was fitted on."""
    held_out_n: int = 0
    """Verdicts it was measured on."""
    held_out_positives: int = 0
    """Good ones among them."""
    held_out_negatives: int = 0
    """Bad ones among them."""
    auc: Area | None = None
    """Area under the curve on them."""
    brier: float | None = None
    """Brier score on them, 0..1."""
    brier_of_rate: float | None = None
    """Brier score on them of always saying the training's share of good ones; what `brier` is compared with."""
    threshold: float | None = None
    """Half the training's share of good verdicts: what counts as a low score."""
    irrelevant: Probe | None = None
    """Obviously irrelevant changes made from what was held out."""
    irrelevant_low: float | None = None
    """Share of them whose probability before the penalty is below `threshold`, 0..1."""
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """Kind -> changes that change nothing."""

    def to_json(self) -> Json:
        """The fields as JSON."""
        return cast(Json, asdict(self))

    @classmethod
    def from_json(cls, document: Json) -> Report:
        """The inverse of `to_json`."""
        made = built(cls, document)
        probes = {kind: built(Probe, one) for kind, one in cast(dict[str, Json], document["probes"]).items()}
        area, irrelevant = cast(Json | None, document["auc"]), cast(Json | None, document["irrelevant"])
        return replace(
            made,
            auc=built(Area, area) if area else None,
            irrelevant=built(Probe, irrelevant) if irrelevant else None,
            probes=probes,
        )
