"""Clients of front ends as they come: urql's default one, and Apollo's with persisted queries."""

from tests.trials.audit.findings import Finding
from tests.trials.audit.node import ran


def findings(url: str) -> list[Finding]:
    """Return whether each client reads the server at ``url``, and what it sent to do so."""
    return [
        Finding(run["name"], run["answer"] == "42", ", then ".join(run["sent"]))
        for run in ran("clients.mjs", f"{url}/graphql")
    ]
