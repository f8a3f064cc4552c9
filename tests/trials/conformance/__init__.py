"""The conformance checks on servers of others: ``make conformance``."""
