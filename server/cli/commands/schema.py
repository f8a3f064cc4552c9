"""``marginalia schema``: the GraphQL schema in its own language."""

import typer

from schema.build import build_schema


def schema() -> None:
    """Print the schema in GraphQL's schema definition language."""
    typer.echo(build_schema().as_str())
