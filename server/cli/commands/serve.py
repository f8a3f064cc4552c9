"""``marginalia serve``: the GraphQL server. ``marginalia schema``: what it serves."""

import typer

from schema.build import build_schema
from server.cli.options import ALL, takes
from server.run import run
from server.settings import Settings


@takes(*ALL)
def serve(settings: Settings) -> None:
    """Serve GraphQL and GraphiQL at /graphql, and pages for people at /.

    Without --endpoint-url and --aws, an embedded engine keeps the data in a file in the data
    directory. The engine starts and stops with the server. Reading needs no JWT; writing does.
    """
    run(settings)


def schema() -> None:
    """Print the schema in GraphQL's schema definition language."""
    typer.echo(build_schema().as_str())
