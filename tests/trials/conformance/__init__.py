"""The conformance checks on servers of others: ``make trial NAME=conformance``."""
