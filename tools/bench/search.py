"""The cost of pages of a search for words, which no index answers."""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal.dynamodb.account import Account
from dal.model.text_search import search_of
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from dal.table.errors import DalError
from features.loading.kind import COMMENTS
from server.local_engine.storage import open_table
from server.settings import Settings
from tools.bench.cost import SIZE, skewed_comments

_SIZES = (2_000, 20_000)
_PAGES = 10

_SHARES: Mapping[str, int] = {"half": 500, "twentieth": 50, "rare": 1}
"""Words, and how many of 1,000 comments have them."""


def search(
    sizes: Annotated[
        list[int] | None, typer.Option("--comments", help="Number of comments on a product.")
    ] = None,
) -> None:
    """Show the cost of pages 1 and 10 of searches for frequent and rare words.

    A new process reads pages 1 to 10, so page 1 has no estimate from earlier searches.
    """
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(_measure(Path(directory), sizes or list(_SIZES), Console()))


async def _measure(directory: Path, sizes: list[int], console: Console) -> None:
    grid = Grid(title=f"Pages of {SIZE} comments of a search", title_justify="left")
    for name in ("comments", "share", "filter", "page", "rows read", "Queries", "RCU"):
        grid.add_column(name, justify="right")
    async with open_table(Settings(data_dir=directory), share=False) as table:
        for size in sizes:
            product = f"of-{size}"
            await COMMENTS.put(Stores(table))(
                [
                    one._replace(
                        comment_id=f"{product}-{number}",
                        product_id=product,
                        text=" ".join([one.text, *_words(number)]),
                    )
                    for number, one in enumerate(skewed_comments(size))
                ],
            )
            for word, of_thousand in _SHARES.items():
                for ratings in (None, frozenset({1})):
                    stores = Stores(table)  # without the estimates of earlier searches
                    selection = Selection(product, ratings, search=search_of(word))
                    labels = (f"{size:,}", f"{of_thousand / 10:g} %", "rating 1" if ratings else "")
                    await _read(stores.comments, selection, grid, labels)
    console.print(grid)


def _words(number: int) -> list[str]:
    """Return the words of the comment at the position ``number``, spread over all dates."""
    return [word for word, share in _SHARES.items() if number * 7_919 % 1_000 < share]


async def _read(
    comments: CommentRepository, selection: Selection, grid: Grid, labels: tuple[str, ...]
) -> None:
    cut = Slice(SIZE, next_page=True)
    for number in range(1, _PAGES + 1):
        with Account() as account:
            try:
                page = await comments.page(selection, cut)
            except DalError:
                cost = (f"{account.requests}", f"{account.rcu:g}")
                grid.add_row(*labels, str(number), "refused", *cost)
                return
        stats = page.stats
        if number in {1, _PAGES} or not page.page_info.has_next_page:
            queries = stats.requests + stats.planning_requests
            capacity = stats.consumed_capacity + stats.planning_capacity
            figures = (f"{stats.items_read:,}", f"{queries}", f"{capacity:g}")
            grid.add_row(*labels, f"{number}", *figures)
        if not page.page_info.has_next_page:
            return
        cut = replace(cut, after=page.edges[-1].position)
