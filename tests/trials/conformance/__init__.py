"""The conformance checks on other projects' servers."""
