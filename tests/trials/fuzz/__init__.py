"""Many thousand malformed and hostile requests."""
