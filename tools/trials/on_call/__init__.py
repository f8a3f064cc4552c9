"""Faults of a server under load, and the alerts that ring."""
