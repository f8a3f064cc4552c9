"""``marginalia bench``: measures the API's reading on an engine of its own."""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table as Grid

from bench.cost import Comparison, Tally, compare, selections
from bench.skewed import skewed_comments
from dal.comments import CommentStore
from dal.model import Comment
from server.demo.comments import demo_comments
from server.settings import Settings
from server.storage import open_table

_DATA = {"Demo data": demo_comments, "70 % rated 5": skewed_comments}


def cost() -> None:
    """Compare what pages cost: as the articles plan them, as the API plans them, and at best.

    Walks pages 1 to 5 of all 31 combinations of ratings, in any language and in one, on an engine
    that is gone afterwards. "Foreseen" is the least that the indexes allow for pages known before
    they are read; "ideal" is one Query of exactly the page. Exit code 1 if plans read other rows.
    """
    console = Console()
    total = Comparison()
    for name, comments in _DATA.items():
        with tempfile.TemporaryDirectory() as directory:
            compared = asyncio.run(_compared(Path(directory), list(comments())))
        console.print(_grid(name, compared))
        total += compared
    console.print(_grid("Both", total))
    if total.differing:
        typer.echo(f"{total.differing} pages differ: this is a bug.", err=True)
        raise typer.Exit(1)


async def _compared(directory: Path, comments: Iterable[Comment]) -> Comparison:
    rows = list(comments)
    async with open_table(Settings(data_dir=directory), share=False) as table:
        store = CommentStore(table)
        await store.put_many(rows)
        products = sorted({row.product_id for row in rows})
        return await compare(table, store, rows, selections(products, "en"))


def _grid(name: str, compared: Comparison) -> Grid:
    grid = Grid(title=f"{name}: {compared.seeds.pages:,} pages", title_justify="left")
    grid.add_column("Plan")
    for heading in ("RCU a page", "of the articles'", "Queries a page", "of the articles'"):
        grid.add_column(heading, justify="right")
    grid.add_column("Items read / returned", justify="right")
    for label, tally in (
        ("articles", compared.seeds),
        ("Marginalia", compared.planned),
        ("foreseen", compared.foreseen),
        ("ideal", compared.ideal),
    ):
        grid.add_row(label, *_cells(tally, compared.seeds))
    grid.caption = f"{compared.refills / compared.planned.pages:.3f} refills a page"
    return grid


def _cells(tally: Tally, seeds: Tally) -> list[str]:
    return [
        f"{tally.capacity / tally.pages:.2f}",
        f"{tally.capacity / seeds.capacity:.3f}",
        f"{tally.requests / tally.pages:.2f}",
        f"{tally.requests / seeds.requests:.3f}",
        f"{tally.items_read / tally.rows:.2f}",
    ]
