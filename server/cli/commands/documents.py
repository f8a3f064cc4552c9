"""``marginalia documents``: GraphQL documents that clients request by id."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from graphql import parse
from rich.console import Console
from rich.table import Table as Grid

from dal.stores import Stores
from schema.build import build_schema
from schema.execution.selections import operations_of
from schema.execution.trusted_documents import TrustedDocuments
from server.cli.options import STORE, takes
from server.engine.storage import open_table
from server.errors import CommandError
from server.manifests import read_manifests
from server.settings import Settings


@takes(*STORE)
def add(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Manifests: Relay's persisted queries, {id: text}, or Apollo's manifest.",
            show_default=False,
        ),
    ],
    *,
    settings: Settings,
) -> None:
    """Store the documents of manifests in the table, for every server over the table.

    Running servers serve them at once. If a document does not fit the schema or its limits, the
    command stores none. Stored documents never change: an id keeps the document that it has.
    """
    texts = read_manifests(files)
    new = asyncio.run(_add(settings, texts))
    typer.echo(
        f"{new:,} of {len(texts):,} documents are new; clients can request all by their ids."
    )


@takes(*STORE)
def list_(*, settings: Settings) -> None:
    """List the documents that the table holds."""
    Console().print(_grid(asyncio.run(_kept(settings))))


async def _add(settings: Settings, texts: Mapping[str, str]) -> int:
    """Store new documents and return their number; CommandError if any document is invalid."""
    async with open_table(settings, share=True) as table:
        documents = Stores(table).documents
        kept = await documents.all()
        trusted = TrustedDocuments(build_schema().documents)
        trusted.add_all(kept)
        broken = trusted.add_all(texts)
        if broken:
            raise CommandError(" ".join(broken))
        new = {one: text for one, text in texts.items() if one not in kept}
        await documents.put(new)
        return len(new)


async def _kept(settings: Settings) -> dict[str, str]:
    async with open_table(settings, share=True) as table:
        return await Stores(table).documents.all()


def _grid(texts: Mapping[str, str]) -> Grid:
    grid = Grid(title=f"{len(texts):,} documents")
    grid.add_column("Id", overflow="fold")
    grid.add_column("Operations")
    grid.add_column("Characters", justify="right")
    for document_id, text in texts.items():
        operations = ", ".join(
            " ".join([one.operation.value, *([one.name.value] if one.name else [])])
            for one in operations_of(parse(text))
        )
        grid.add_row(document_id, operations, f"{len(text):,}")
    return grid
