"""The embedded engine and its data directory."""
