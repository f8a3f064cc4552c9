"""The server audits of npm's graphql-http, which hold a server to GraphQL over HTTP."""

from tests.trials.audit.findings import Finding
from tests.trials.audit.node import ran


def findings(url: str) -> list[Finding]:
    """Return each audit of the server at ``url``; what passes is told by its number alone."""
    return [
        Finding(f"{audit['id']} {audit['name']}", audit["status"] == "ok", audit.get("reason", ""))
        for audit in ran("graphql_http.mjs", f"{url}/graphql")
    ]
