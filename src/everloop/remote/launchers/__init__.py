"""remote/launchers."""
