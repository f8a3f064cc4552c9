"""Audits a server with tools and clients of other projects.

Prints a table, and exits with 1 if a check fails.
"""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.server.serving import served
from tools.trials.audit import clairvoyance, cross_origin, graphql_cop, programs
from tools.trials.audit.findings import report


def main() -> None:
    """Run every audit, on a server with introspection and on one without."""
    with ExitStack() as stack:
        allowed, other = (stack.enter_context(cross_origin.origin()) for _ in range(2))
        place = Path(stack.enter_context(TemporaryDirectory()))
        shown = stack.enter_context(served(place / "open", "--cors-origin", allowed)).url
        hidden = stack.enter_context(served(place / "closed", "--no-introspection")).url
        cop = "graphql-cop's checks"
        sections = {
            "GraphQL over HTTP: graphql-http's server audits": programs.graphql_http(shown),
            "Clients of front ends": programs.clients(shown),
            "Chromium on other origins": asyncio.run(cross_origin.findings(shown, allowed, other)),
            cop: graphql_cop.findings(shown),
            f"{cop}, --no-introspection": graphql_cop.findings(hidden, introspection=False),
            "Relay": programs.relay(),
            "clairvoyance": clairvoyance.findings(shown, hidden),
        }
    report(sections)


if __name__ == "__main__":
    main()
