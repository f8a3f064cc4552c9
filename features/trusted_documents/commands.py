"""``marginalia documents``: registers GraphQL documents that clients request by id."""

from pathlib import Path
from typing import Annotated

import typer
from graphql import parse
from rich.table import Table as Grid

from features.trusted_documents.document_files import read_manifests
from features.trusted_documents.documents import TrustedDocuments
from features.trusted_documents.repository import DocumentRepository
from schema.build import build_schema
from schema.execution.selections import operations_of
from server.cli.console import console
from server.cli.options import STORE, takes
from server.errors import CommandError
from server.local_engine.storage import open_table
from server.settings import Settings


@takes(*STORE)
async def add(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Manifests from Relay (a JSON object that maps ids to texts) or from Apollo.",
            show_default=False,
        ),
    ],
    *,
    settings: Settings,
) -> None:
    """Store the GraphQL documents from manifest files in the table.

    All servers of the table can execute the documents immediately. If a document does not fit the
    schema or exceeds a limit, the command stores no document. A stored document never changes: the
    command skips each document whose id is already in the table.
    """
    texts = read_manifests(files)
    async with open_table(settings, share=True) as table:
        documents = DocumentRepository(table)
        kept = await documents.all()
        trusted = TrustedDocuments(build_schema().documents)
        trusted.add_all(kept)
        if broken := trusted.add_all(texts):
            raise CommandError(" ".join(broken))
        new = {one: text for one, text in texts.items() if one not in kept}
        await documents.put(new)
    typer.echo(
        f"{len(new):,} of {len(texts):,} documents are new. Clients can request all of them by id."
    )


@takes(*STORE)
async def list_(*, settings: Settings) -> None:
    """List the documents in the table."""
    async with open_table(settings, share=True) as table:
        texts = await DocumentRepository(table).all()
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
    console().print(grid)
