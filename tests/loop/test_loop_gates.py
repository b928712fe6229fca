"""Every policy carries a whole run: the loop drives the same object as the simulation."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import carry, installation, request

from everloop.evidence import GATES


@pytest.mark.parametrize("policy", GATES)
def test_a_run_under_each_policy_finishes_and_says_what_it_claims(tmp_path: Path, policy: str) -> None:
    document = carry(installation(tmp_path), request(rounds=3, options={"gate": policy}))
    assert document["state"] == "finished"
    assert document["protocol"]["gate"]["policy"] == policy
    certifications = [gate for gate in document["gates"] if gate["gate"] == "certification"]
    assert len(certifications) == len([one for one in document["claims"] if one["claim"] == "certified"])
    tested = policy not in {"greedy", "relative"}
    for one in certifications:
        assert (one["n"] > 0) is tested, "a policy without a test claims without pairs, and its figures stay null"
        assert (one["mean"] is not None) is tested
    assert document["gates"][-1]["gate"] == "final"
    assert document["gates"][-1]["n"] == 400
