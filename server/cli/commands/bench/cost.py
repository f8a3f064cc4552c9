"""``marginalia bench cost``: what pages cost in DynamoDB's terms, on an engine of its own."""

import asyncio
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from bench.cost import Comparison, Tally, compare, selections
from bench.skewed import skewed_comments
from dal.model import Comment
from dal.repositories.comments import CommentRepository
from server.demo.comments import demo_comments
from server.engine.storage import open_table
from server.settings import Settings

_SEED = 7
_DATA = {"Demo data": demo_comments, "70 % rated 5": skewed_comments}


def cost(
    *,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle",
            envvar="MARGINALIA_SHUFFLE",
            help="Walk the filters in random order, always the same.",
        ),
    ] = False,
) -> None:
    """Compare what pages cost, on an engine that is gone afterwards.

    Walks pages 1 to 5 of all 31 combinations of ratings, in any language and one.

    "articles": a full page from every partition, as this project started.

    "counts only": the API's plans where it never read the page's rows before.

    "Marginalia": the API's plans, which remember where rows stood.

    "foreseen": the least these indexes allow for pages known beforehand.

    "ideal": one Query of exactly the page.

    Exit code 1 if two plans read other rows.
    """
    console = Console()
    total = Comparison()
    for name, comments in _DATA.items():
        with tempfile.TemporaryDirectory() as directory:
            compared = asyncio.run(_compared(Path(directory), list(comments()), shuffle=shuffle))
        console.print(_grid(name, compared))
        total += compared
    console.print(_grid("Both", total))
    if total.differing:
        typer.echo(f"{total.differing} pages differ: this is a bug.", err=True)
        raise typer.Exit(1)


async def _compared(directory: Path, rows: Sequence[Comment], *, shuffle: bool) -> Comparison:
    async with open_table(Settings(data_dir=directory), share=False) as table:
        repository = CommentRepository(table)
        await repository.put_many(rows)
        chosen = list(selections(sorted({row.product_id for row in rows}), "en"))
        if shuffle:
            random.Random(_SEED).shuffle(chosen)  # noqa: S311 - nothing to guess
        return await compare(table, repository, rows, chosen)


def _grid(name: str, compared: Comparison) -> Grid:
    grid = Grid(title=f"{name}: {compared.seeds.pages:,} pages", title_justify="left")
    grid.add_column("Plan")
    for heading in ("RCU a page", "of the articles'", "Queries a page", "of the articles'"):
        grid.add_column(heading, justify="right")
    grid.add_column("Items read / returned", justify="right")
    for label, tally in (
        ("articles", compared.seeds),
        ("counts only", compared.counted),
        ("Marginalia", compared.planned),
        ("foreseen", compared.foreseen),
        ("ideal", compared.ideal),
    ):
        grid.add_row(label, *_cells(tally, compared.seeds))
    counts, planned = (
        f"{tally.refills / tally.pages:.3f}" for tally in (compared.counted, compared.planned)
    )
    grid.caption = f"Refills a page: {counts} by counts only, {planned} by Marginalia"
    return grid


def _cells(tally: Tally, seeds: Tally) -> list[str]:
    return [
        f"{tally.capacity / tally.pages:.2f}",
        f"{tally.capacity / seeds.capacity:.3f}",
        f"{tally.requests / tally.pages:.2f}",
        f"{tally.requests / seeds.requests:.3f}",
        f"{tally.items_read / tally.rows:.2f}",
    ]
