"""What the subgraph adds to the lists of the core's tests."""

SCHEMA_OPTIONS = {"federation": True}
"""Arguments of ``build_schema``."""

EXCLUDING_FLAGS = ("federation",)
"""Flags that cannot be combined with some other settings."""
