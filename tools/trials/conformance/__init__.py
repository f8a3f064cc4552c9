"""The conformance checks on servers of other projects."""
