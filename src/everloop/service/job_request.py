"""A train job as a caller asks for it: read from JSON, checked field by field, refused with the name of the field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from math import isfinite

from everloop.errors import InvalidRequestId, InvalidTrainJobMetadata, InvalidTrainJobSpec
from everloop.events import Json, JsonValue
from everloop.service import training_models
from everloop.students.base import TrainSettings

ROWS = 100_000
"""Most rows of one job."""
STEPS, BATCH, SEED = (1, 100_000), (1, 4096), (0, 2**31 - 1)
"""Least and greatest values of the settings that are counts."""
LABELS, LABEL_NAME, LABEL_TEXT = 64, 64, 256
"""Most labels, and most characters of a label's name and of its text."""
REQUEST_ID = 128
"""Most characters of a request id."""
RUN_LABEL = "rsi_run"
"""The label that groups the jobs of a run."""

_KEYS = ("type", "request_id", "spec", "labels", "user_metadata")
_SPEC = ("base_model", "rows", "steps", "batch_size", "learning_rate", "seed", "parent", "labels")
_ROW = ("family", "prompt", "completion", "weight")
_FORMS = {"trials", "runner"}


@dataclass(frozen=True, slots=True)
class TrainJobRequest:
    """What a caller asks for."""

    request_id: str | None
    """What the caller calls the request; the same one twice makes one job."""
    base_model: str
    """Entry point of the group ``everloop.trainers``."""
    rows: bytes
    """The training rows, JSON lines."""
    row_count: int
    """How many rows."""
    settings: TrainSettings
    """Steps, batch, learning rate; the trainer's defaults filled in."""
    seed: int
    """Seed of weights (when fresh) and batches."""
    parent: str | None
    """Checkpoint to go on from, ``envloop://JOB/CHECKPOINT``; None: fresh weights."""
    labels: Json
    """Labels of the job."""
    user_metadata: Json
    """Metadata of the caller's session; empty: the labels stand for it."""

    @classmethod
    def from_json(cls, document: JsonValue) -> TrainJobRequest:
        """Read a request. InvalidTrainJobSpec, InvalidTrainJobMetadata or InvalidRequestId name what is wrong."""
        body = _object(document, "a train job")
        _known_form(body)
        spec = _object(body.get("spec"), "spec")
        _refuse_unknown(spec, _SPEC, "spec.")
        base_model, parent = _base_model(spec.get("base_model")), _parent(spec.get("parent"))
        rows = _rows(spec.get("rows"))
        return cls(
            request_id=_request_id(body.get("request_id")),
            base_model=base_model,
            rows="".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode(),
            row_count=len(rows),
            settings=_settings(spec, training_models.defaults(base_model, base=parent is None)),
            seed=_whole(spec.get("seed", 0), "spec.seed", *SEED),
            parent=parent,
            labels=_merged(_labels(spec.get("labels"), "spec.labels"), _labels(body.get("labels"), "labels")),
            user_metadata=_labels(body.get("user_metadata"), "user_metadata"),
        )

    @property
    def label_run(self) -> str | None:
        """The run that the labels, or else the metadata, name."""
        for labels in (self.labels, self.user_metadata):
            run = labels.get(RUN_LABEL)
            if isinstance(run, str) and run.strip():
                return run
        return None

    @property
    def purpose(self) -> str:
        """What the labels call it; ``submitted`` when they do not."""
        named = self.labels.get("agent_purpose") or self.labels.get("rsi_purpose")
        return named if isinstance(named, str) and len(named) <= 32 else "submitted"

    def to_json(self) -> Json:
        """What is kept of it: everything but the rows, of which number and hash stay."""
        return {
            "base_model": self.base_model,
            "rows": self.row_count,
            "rows_sha256": hashlib.sha256(self.rows).hexdigest(),
            "settings": self.settings.to_json(),
            "seed": self.seed,
            "parent": self.parent,
            "user_metadata": self.user_metadata,
        }

    def digest(self) -> str:
        """SHA-256 hex of everything that is asked for, the request id apart."""
        document = self.to_json() | {"labels": self.labels}
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _known_form(body: Json) -> None:
    if body.get("type", "train") != "train":
        raise InvalidTrainJobSpec("type must be train", why="this server carries out train jobs only")
    if forms := sorted(_FORMS & set(body)):
        why = "this server runs no published runners and no sets of trials"
        raise InvalidTrainJobSpec(f"{forms[0]} is not supported", why=why, then="Send spec with base_model and rows")
    _refuse_unknown(body, _KEYS, "")


def _object(value: JsonValue, name: str) -> Json:
    if not isinstance(value, dict):
        raise InvalidTrainJobSpec(f"{name} must be a JSON object", then="Send at least spec.base_model and spec.rows")
    return value


def _refuse_unknown(document: Json, known: Collection[str], prefix: str) -> None:
    for name in document:
        if name not in known:
            raise InvalidTrainJobSpec(f"{prefix}{name!r:.80} is not known", then=f"Known: {', '.join(known)}")


def _request_id(value: JsonValue) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= REQUEST_ID or not value.isprintable():
        raise InvalidRequestId(f"request_id must be 1 to {REQUEST_ID} printable characters")
    return value


def _base_model(value: JsonValue) -> str:
    known = training_models.names()
    if not isinstance(value, str) or value not in known:
        then = f"Known: {', '.join(known)}"
        raise InvalidTrainJobSpec(f"spec.base_model {value!r:.80} is not supported by this server", then=then)
    return value


def _parent(value: JsonValue) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.startswith("envloop://") or len(value) > 128):
        raise InvalidTrainJobSpec("spec.parent must be a checkpoint path", then="Send envloop://JOB/CHECKPOINT")
    return value


def _rows(value: JsonValue) -> list[Json]:
    if not isinstance(value, list) or not value:
        raise InvalidTrainJobSpec("spec.rows is required", why="a training needs at least one row")
    if len(value) > ROWS:
        raise InvalidTrainJobSpec(f"spec.rows holds {len(value)} rows", why=f"a job takes at most {ROWS}")
    return [_row(one, number) for number, one in enumerate(value)]


def _row(value: JsonValue, number: int) -> Json:
    name = f"spec.rows[{number}]"
    row = _object(value, name)
    _refuse_unknown(row, _ROW, f"{name}.")
    for field in _ROW[:3]:
        text = row.get(field)
        if not isinstance(text, str) or not text or not _encodable(text):
            raise InvalidTrainJobSpec(f"{name}.{field} must be text that is not empty")
    weight = row.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not _positive(weight):
        raise InvalidTrainJobSpec(f"{name}.weight must be a positive number", why=f"got {weight!r:.80}")
    return {**row, "weight": float(weight)}


def _settings(spec: Json, defaults: TrainSettings) -> TrainSettings:
    rate = spec.get("learning_rate", defaults.learning_rate)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not _positive(rate) or rate > 1:
        raise InvalidTrainJobSpec("spec.learning_rate must be above 0 and at most 1", why=f"got {rate!r:.80}")
    return TrainSettings(
        steps=_whole(spec.get("steps", defaults.steps), "spec.steps", *STEPS),
        batch_size=_whole(spec.get("batch_size", defaults.batch_size), "spec.batch_size", *BATCH),
        learning_rate=float(rate),
    )


def _positive(value: float) -> bool:
    """Whether it is positive and finite; a whole number too long for a float is not."""
    try:
        return isfinite(value) and float(value) > 0
    except OverflowError:
        return False


def _whole(value: JsonValue, name: str, least: int, most: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON does not tell 3 from 3.0
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidTrainJobSpec(f"{name} must be a whole number from {least} to {most}", why=f"got {value!r:.80}")
    return value


def _labels(value: JsonValue, name: str) -> Json:
    """Labels: short texts or whole numbers by short printable names."""
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > LABELS:
        raise InvalidTrainJobMetadata(f"{name} must be an object of at most {LABELS} labels")
    for key, label in value.items():
        if not 1 <= len(key) <= LABEL_NAME or not key.isprintable():
            raise InvalidTrainJobMetadata(f"{name} holds a name that is no 1 to {LABEL_NAME} printable characters")
        if not _short(label):
            most = f"text of at most {LABEL_TEXT} printable characters or a whole number"
            raise InvalidTrainJobMetadata(f"{name}.{key} must be {most}")
    return value


def _short(label: JsonValue) -> bool:
    if isinstance(label, str):
        return len(label) <= LABEL_TEXT and label.isprintable() and _encodable(label)
    return isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**53


def _encodable(text: str) -> bool:
    """Whether a text is Unicode; JSON can spell half of a pair, which no file and no database takes."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _merged(inner: Json, outer: Json) -> Json:
    for name in inner.keys() & outer.keys():
        if inner[name] != outer[name]:
            why = "spec.labels and labels name different ones"
            raise InvalidTrainJobMetadata(f"label {name} is given twice", why=why, then="Leave one out")
    return {**inner, **outer}
