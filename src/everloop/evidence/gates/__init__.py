"""evidence/gates."""
