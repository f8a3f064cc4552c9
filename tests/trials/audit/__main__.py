"""Audits a server with the tools and clients of other projects.

Prints a table, and ends with 1 if anything does not hold."""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.server.serving import served
from tests.trials.audit import (
    clairvoyance,
    clients,
    cross_origin,
    graphql_cop,
    graphql_http,
    relay,
)
from tests.trials.audit.findings import Finding, table


def main() -> int:
    """Run every audit on two servers, one that shows its schema and one that keeps it back."""
    with ExitStack() as stack:
        allowed, other = (stack.enter_context(cross_origin.origin()) for _ in range(2))
        place = Path(stack.enter_context(TemporaryDirectory()))
        shown = stack.enter_context(served(place / "open", "--cors-origin", allowed)).url
        kept = stack.enter_context(served(place / "closed", "--no-introspection")).url
        sections: list[tuple[str, list[Finding]]] = [
            ("GraphQL over HTTP: graphql-http's server audits", graphql_http.findings(shown)),
            ("Clients of front ends", clients.findings(shown)),
            (
                "Chromium on other origins",
                asyncio.run(cross_origin.findings(shown, allowed, other)),
            ),
            ("graphql-cop's checks", graphql_cop.findings(shown)),
            (
                "graphql-cop's checks, --no-introspection",
                graphql_cop.findings(kept, introspection=False),
            ),
            ("Relay", relay.findings()),
            ("clairvoyance", clairvoyance.findings(shown, kept)),
        ]
    print(table(sections))  # noqa: T201 - a command's output
    return 0 if all(finding.holds for _, findings in sections for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
