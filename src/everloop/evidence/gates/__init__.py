"""Decision policies behind one Protocol."""

from everloop.evidence.gates.base import Gate, GateState, Ruling, Verdict
from everloop.evidence.gates.registry import GATES, gate_from_json, gate_to_json, make_gate

__all__ = ["GATES", "Gate", "GateState", "Ruling", "Verdict", "gate_from_json", "gate_to_json", "make_gate"]
