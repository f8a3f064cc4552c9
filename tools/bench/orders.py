"""The cost of pages: the first, the last and an average page of a product's list in each order.

Also measures a page of a group, which lists the comments on several products together.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal.catalogue import Order
from dal.kinds.item_kind import Put
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from features.loading.kind import COMMENTS
from server.local_engine.storage import open_table
from server.settings import Settings
from tools.bench.cost import SIZE, skewed_comments

_PRODUCT, _PAGES = "deep", 1_000

_VOTED = 0.3
"""The share of comments with helpful votes."""

_GROUPS = (2, 5, 10, 30, 60)
_OF_A_VARIANT = 60
"""Maximum number of comments on each product of a group."""


def orders(
    pages: Annotated[int, typer.Option(help="Number of pages of the product's list.")] = _PAGES,
) -> None:
    """Show the cost of a page in each order, and of a group's page, on a temporary engine.

    Reads one product's list to its end in each order. 30 % of its comments have helpful votes.
    """
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(_measure(Path(directory), pages, Console()))


async def _measure(directory: Path, pages: int, console: Console) -> None:
    async with open_table(Settings(data_dir=directory), share=False) as table:
        stores = Stores(table)
        comments, put = stores.comments, COMMENTS.put(stores)
        rows = list(skewed_comments(pages * SIZE))
        await put(
            [
                one._replace(product_id=_PRODUCT, votes_before=votes_of(number))
                for number, one in enumerate(rows)
            ],
        )
        grid = _grid(
            f"A page of {SIZE} of {len(rows):,} comments",
            "order",
            "RCU of page 1",
            f"RCU of page {pages:,}",
            "mean RCU",
            "mean Queries",
        )
        for name, order, oldest_first in (
            ("NEWEST", None, False),
            ("OLDEST", None, True),
            *((order.name, order, False) for order in Order),
        ):
            await _walk(comments, grid, name, order, oldest_first=oldest_first)
        console.print(grid)
        grid = _grid(f"Page 2 of a group, of {SIZE} comments", "products", "RCU", "Queries")
        for size in _GROUPS:
            await _group(comments, put, grid, size, rows)
        console.print(grid)


def votes_of(number: int) -> int:
    """Return the number of helpful votes of the comment at the position ``number``.

    The comments with votes are spread over all dates.
    """
    return number * 7 % 50 + 1 if number * 13 % 100 < 100 * _VOTED else 0


async def _walk(
    comments: CommentRepository, grid: Grid, name: str, order: Order | None, *, oldest_first: bool
) -> None:
    selection = Selection(_PRODUCT, order=order)
    cut = Slice(SIZE, reverse=oldest_first, next_page=True)
    capacity: list[float] = []
    requests: list[int] = []
    while True:
        page = await comments.page(selection, cut)
        capacity.append(page.stats.consumed_capacity)
        requests.append(page.stats.requests)
        if not page.page_info.has_next_page:
            break
        cut = replace(cut, after=page.edges[-1].position)
    figures = (capacity[0], capacity[-1], fmean(capacity), fmean(requests))
    grid.add_row(name, *(f"{one:.2f}" for one in figures))


async def _group(
    comments: CommentRepository, put: Put[Comment], grid: Grid, size: int, rows: Sequence[Comment]
) -> None:
    products = [f"variant-{size}-{number}" for number in range(size)]
    await put(
        [
            one._replace(comment_id=f"{product}-{one.comment_id}", product_id=product)
            for number, product in enumerate(products)
            for one in rows[number::size][:_OF_A_VARIANT]
        ],
    )
    selection = Selection(products[0], variants=frozenset(products[1:]))
    # Page 1 also caches the statistics of all products, so that page 2 costs no Queries for them.
    first = await comments.page(selection, Slice(SIZE))
    stats = (await comments.page(selection, Slice(SIZE, after=first.edges[-1].position))).stats
    grid.add_row(str(size), f"{stats.consumed_capacity:g}", str(stats.requests))


def _grid(title: str, *columns: str) -> Grid:
    grid = Grid(title=title, title_justify="left")
    for column in columns:
        grid.add_column(column, justify="left" if column == "order" else "right")
    return grid
