"""``marginalia explain``: how a page of comments is read, and what it costs."""

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal import rules
from dal.comments import CommentStore, Selection
from dal.model import Comment
from dal.pages import Page
from dal.reading import Reading
from resolvers.arguments import DEFAULT_SIZE, MAX_SIZE, plain_slice
from server import options
from server.settings import Settings
from server.storage import open_table


def explain(
    product: Annotated[str, typer.Argument(help="The product whose comments are read.")],
    *,
    rating: Annotated[
        list[int] | None,
        typer.Option(envvar="MARGINALIA_RATING", help="Only this rating; repeat it for several."),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            envvar="MARGINALIA_LANGUAGE", help="Only this language; repeat it for several."
        ),
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(
            envvar="MARGINALIA_FIRST",
            help=f"Rows from the newest on, up to {MAX_SIZE}; {DEFAULT_SIZE} unless said.",
        ),
    ] = None,
    last: Annotated[
        int | None, typer.Option(envvar="MARGINALIA_LAST", help="Rows up to the oldest instead.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(envvar="MARGINALIA_AFTER", help="Start behind this cursor.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(envvar="MARGINALIA_BEFORE", help="Stop before this cursor.")
    ] = None,
    data_dir: options.DataDir = options.DEFAULTS.data_dir,
    endpoint_url: options.EndpointUrl = None,
    aws: options.Aws = False,
    table: options.TableName = options.DEFAULTS.table,
) -> None:
    """Read one page as the API would, and show what was read: index, key ranges, capacity."""
    selection = Selection(
        rules.identifier("PRODUCT", product),
        rules.ratings("--rating", rating) if rating else None,
        rules.languages("--language", language) if language else None,
    )
    cut = plain_slice(first, after, last, before)
    settings = Settings(data_dir=data_dir, endpoint_url=endpoint_url, aws=aws, table=table)

    async def read() -> Page[Comment]:
        async with open_table(settings, share=True) as opened:
            return await CommentStore(opened).page(selection, cut)

    page = asyncio.run(read())
    console = Console()
    console.print(_grid(page.reading))
    console.print(_summary(page))


def _grid(reading: Reading) -> Grid:
    title = f"{reading.access_pattern} on index {reading.index or 'none'}"
    if reading.residual:
        title += f", keeping the rows of the asked-for {' and '.join(reading.residual)}"
    grid = Grid(title=title, title_justify="left")
    grid.add_column("Partition key", overflow="fold")
    grid.add_column("Range", overflow="fold")
    for heading in ("Limit", "Items read", "Refills"):
        grid.add_column(heading, justify="right")
    for segment in reading.segments:
        read = "skipped" if segment.skipped else f"{segment.items_read:,}"
        grid.add_row(
            segment.partition_key, segment.range, f"{segment.limit:,}", read, str(segment.refills)
        )
    return grid


def _summary(page: Page[Comment]) -> str:
    reading = page.reading
    read = (
        f"Rows: {len(page.edges)}. Requests: {reading.requests}. "
        f"Items read: {reading.items_read:,}. Read capacity units: {reading.consumed_capacity:g}."
    )
    if reading.estimated_capacity is not None:
        read += (
            f" Expected: {reading.estimated_capacity:.2f}, from statistics that took "
            f"{reading.planning_capacity:g} more."
        )
    if not page.edges:
        return read
    return f"{read}\nTo go on: --after {page.edges[-1].cursor}"
