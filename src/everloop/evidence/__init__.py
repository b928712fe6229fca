"""Evidence: protocols, item sets, scores, gates. Pure functions and frozen values; useful without the rest."""

from everloop.evidence.constraints import FailureRate, FamilyFloor, RuleCheck, Violation
from everloop.evidence.eprocess import log_e
from everloop.evidence.gates import GATES, Gate, GateState, Ruling, Verdict, gate_from_json, gate_to_json, make_gate
from everloop.evidence.planning import Cost, minimum_detectable_effect, worst_case
from everloop.evidence.protocol import EvaluationProtocol
from everloop.evidence.score import Change, Score
from everloop.evidence.selftest import selftest
from everloop.evidence.sets import SETS, SetUse, check_supply, set_of
from everloop.evidence.simulate import simulate_runs, simulate_steps
from everloop.evidence.tally import Outcome, Tally
from everloop.evidence.world import World

__all__ = [
    "GATES",
    "SETS",
    "Change",
    "Cost",
    "EvaluationProtocol",
    "FailureRate",
    "FamilyFloor",
    "Gate",
    "GateState",
    "Outcome",
    "RuleCheck",
    "Ruling",
    "Score",
    "SetUse",
    "Tally",
    "Verdict",
    "Violation",
    "World",
    "check_supply",
    "gate_from_json",
    "gate_to_json",
    "log_e",
    "make_gate",
    "minimum_detectable_effect",
    "selftest",
    "set_of",
    "simulate_runs",
    "simulate_steps",
    "worst_case",
]
