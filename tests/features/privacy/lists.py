"""What export and erasure add to the lists of the core's tests."""

COMMANDS_WITH_AN_ID = {"user erase {} --yes": True, "user export {}": True}
"""Commands that take an own id, and whether they read the table."""
