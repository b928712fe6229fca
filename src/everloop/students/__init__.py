"""students."""
