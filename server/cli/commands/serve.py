"""``marginalia serve`` runs the GraphQL server. ``marginalia schema`` prints its schema."""

import asyncio
import os
from typing import Annotated

import typer

from server.checks import findings
from server.cli.options import takes
from server.cli.variables import unknown_variables
from server.errors import DIFFERS
from server.findings import Level
from server.run import run
from server.services import printed_schema
from server.settings import ORDER, SCHEMA_SETTINGS, Settings


@takes(*ORDER)
def serve(
    *,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Do not serve, but check the settings and the table, files and services that they "
            "name. Print one line for each check. The exit code is 1 if a setting is dangerous.",
        ),
    ] = False,
    settings: Settings,
) -> None:
    """Serve GraphQL and GraphiQL at /graphql, and pages for people at /.

    Without --endpoint-url and --aws, the server starts an embedded engine, which stores the data in
    the data directory. Clients need a JWT to write, but not to read.
    """
    if check:
        asyncio.run(_check(settings))
    else:
        run(settings, unknown_variables(os.environ))


async def _check(settings: Settings) -> None:
    """Print a line for each finding of the checks. The exit code is 1 if a level is DANGER."""
    worst = set()
    async for level, subject, sentence in findings(settings, unknown_variables(os.environ)):
        worst.add(level)
        typer.echo(f"{level:8} {subject:14} {sentence}")
    if Level.DANGER in worst:
        raise typer.Exit(DIFFERS)


@takes(*SCHEMA_SETTINGS)
def schema(settings: Settings) -> None:
    """Print the schema in GraphQL's schema definition language."""
    typer.echo(printed_schema(settings))
