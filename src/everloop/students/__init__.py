"""What is measured and trained. Importing this needs no training library."""

from everloop.students.base import Capabilities, Manifest, Row, Sampler, Trainer, TrainRequest, TrainSettings
from everloop.students.registry import trainer

__all__ = ["Capabilities", "Manifest", "Row", "Sampler", "TrainRequest", "TrainSettings", "Trainer", "trainer"]
