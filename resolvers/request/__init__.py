"""One request: its user, permissions, selected fields, and cached reads."""
