"""The cost of pages: requests, rows and capacity of several ways to read the same pages.

- *Articles* reads a full page of every selected partition, as in Alex Reid's articles, on which the
  data model is based (docs/DESIGN.md).
- *Counts only* is the plan that the API makes if it knows only how many comments have each rating
  and language.
- *Marginalia* is the plan that the API makes if it also has row locations: the positions in
  the list at which the process found rows when it read earlier pages.
- *Foreseen* is the least possible cost with the table's indexes: the cost of a plan that knows the
  page's rows before the read.
- *Ideal* is one Query that reads exactly the page's rows. For most of the 31 combinations of
  ratings, the indexes do not allow such a Query.

The command reads two sets of data: the demo's comments, and the comments of one product, of which
70 % have the rating 5, as is usual in real shops.
"""

import asyncio
import random
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from operator import add
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal.counts.reader import ProductStatisticsProvider
from dal.dynamodb.table import Table
from dal.entities.comment import ALL, COMMENT, comment_position
from dal.model import RATINGS, Comment
from dal.query.cost import capacity_of_bytes
from dal.query.executor import Executor
from dal.query.pagination import PageReader, Slice
from dal.query.plan import Query
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.index import Index
from dal.table.items import bytes_of
from features.demo.demo_data import demo_comments
from features.loading.kind import COMMENTS
from server.local_engine.storage import open_table
from server.settings import Settings

PAGES = 5
SIZE = 20

_SHUFFLED = 7
"""The seed of the random order in which the selections are read."""

_SKEWED = 3_000
"""Number of comments of the product with 70 % rated 5."""
_START = datetime(2022, 1, 1, tzinfo=UTC)
_WEIGHTS = (6, 4, 7, 13, 70)
_LANGUAGES = {"en": 60, "de": 25, "fr": 15}
_SENTENCE = "the kettle boils fast and pours well but its lid is loose and the cord is short"
_WORDS = tuple(_SENTENCE.split())


def skewed_comments(count: int = _SKEWED) -> Iterator[Comment]:
    """Yield comments on one product, oldest first. Each call yields the same comments.

    Their sizes are like the sizes in the demo data.
    """
    chance = random.Random(70)  # noqa: S311 - data, not secrets
    for number in range(count):
        yield Comment(
            comment_id=f"skewed-{number:05}",
            product_id="skewed",
            username=f"user{number % 400}",
            rating=chance.choices(RATINGS, _WEIGHTS)[0],
            language=chance.choices(list(_LANGUAGES), list(_LANGUAGES.values()))[0],
            title=" ".join(chance.choices(_WORDS, k=3)),
            text=" ".join(chance.choices(_WORDS, k=chance.randint(5, 90))),
            created_at=_START + timedelta(hours=number // 2 * 2),
        )


def capacity_of(comments: Iterable[Comment], index: Index) -> float:
    """Return the RCU of one Query of ``index`` that reads exactly these rows."""
    sizes = (bytes_of(COMMENT.encode(comment), index.attributes) for comment in comments)
    return capacity_of_bytes(sum(sizes))


class Foresight:
    """Knows all comments of several products, and computes the least cost of their pages."""

    def __init__(self, comments: Iterable[Comment]) -> None:
        self._rows: dict[str, list[Comment]] = {}
        for comment in sorted(comments, key=comment_position):
            self._rows.setdefault(comment.product_id, []).append(comment)
        self._positions = {
            product: [comment_position(row) for row in rows] for product, rows in self._rows.items()
        }

    def cheapest(self, query: Query, after: str | None, last: str) -> tuple[int, int, float]:
        """Return the Queries, rows and RCU of the cheapest way to read a page.

        The page begins after the position ``after``, or at the list's start if ``after`` is None.
        It ends with the position ``last``.
        """
        (product,) = query.filters["product"]
        positions = self._positions[product]
        end = None if after is None else bisect_left(positions, after)
        rows = self._rows[product][bisect_right(positions, last) - 1 : end]
        ways = [
            _read(index, query, rows)
            for index in COMMENT.indexes
            if {*index.partition, *index.covers} <= query.filters.keys()
        ]
        return min(ways, key=lambda way: way[2])


def _read(index: Index, query: Query, rows: Sequence[Comment]) -> tuple[int, int, float]:
    """Return the Queries, rows and RCU of reading ``rows`` from an index.

    Rows in partitions that the query does not select are left out.
    """
    parts: dict[str, list[Comment]] = {}
    for row in rows:
        values = COMMENT.values(row)
        if all(values[name] in query.filters[name] for name in index.partition):
            parts.setdefault(index.partition_of(values), []).append(row)
    read = sum(map(len, parts.values()))
    return len(parts), read, sum(capacity_of(part, index) for part in parts.values())


@dataclass(slots=True)
class Tally:
    """The total cost of many pages. Capacity is in RCU."""

    pages: int = 0
    rows: int = 0
    requests: int = 0
    items_read: int = 0
    capacity: float = 0.0
    refills: int = 0
    """Number of further Queries, sent because a partition's first Query returned too few rows."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*map(add, astuple(self), astuple(other)))

    def count(
        self, rows: int, requests: int, items_read: int, capacity: float, refills: int = 0
    ) -> None:
        """Count one page."""
        self.pages += 1
        self.rows += rows
        self.requests += requests
        self.items_read += items_read
        self.capacity += capacity
        self.refills += refills


WAYS = ("articles", "counts only", "Marginalia", "foreseen", "ideal")


@dataclass(slots=True)
class Comparison:
    """The costs of all ways to read one set of data."""

    tallies: dict[str, Tally] = field(default_factory=lambda: {way: Tally() for way in WAYS})
    differing: int = 0
    """Number of pages for which the first three of ``WAYS`` returned different rows. A number above
    0 is a bug."""

    def __add__(self, other: "Comparison") -> "Comparison":
        tallies = {way: self.tallies[way] + other.tallies[way] for way in WAYS}
        return Comparison(tallies, self.differing + other.differing)


def selections(products: Sequence[str], language: str) -> Iterator[Selection]:
    """Yield two selections for each product and each non-empty set of ratings.

    The first has comments in all languages, the second only those in ``language``.
    """
    for product in products:
        for languages in (None, frozenset({language})):
            for size in range(1, len(RATINGS) + 1):
                for ratings in combinations(RATINGS, size):
                    yield Selection(product, frozenset(ratings), languages)


async def compare(
    table: Table,
    stores: Stores,
    comments: Sequence[Comment],
    chosen: Iterable[Selection],
) -> Comparison:
    """Read up to five pages of each selection by the first three of ``WAYS``.

    Compute the costs of the other two from ``comments``, which are all comments of the table.
    Return the costs of all ``WAYS``.
    """
    provider = ProductStatisticsProvider(table.query, stores.statistics, stores.maintenance)
    articles, counted = (
        PageReader(Executor(table.query, COMMENT.indexes, one), COMMENT.decode_row, descending=True)
        for one in (None, provider)
    )
    foresight = Foresight(comments)
    result = Comparison()
    for selection in chosen:
        query, position = selection.query(), None
        for _ in range(PAGES):
            cut = Slice(SIZE, after=position)
            page = await articles.read(query, cut)
            if not page.edges:
                break
            provider.locations.clear()
            pages = [page, await counted.read(query, cut)]
            pages.append(await stores.comments.page(selection, cut))
            for way, one in zip(WAYS[:3], pages, strict=True):
                read = one.stats
                result.tallies[way].count(
                    len(page.edges),
                    read.requests + read.planning_requests,
                    read.items_read,
                    read.consumed_capacity + read.planning_capacity,
                    sum(segment.refills for segment in read.segments),
                )
            rows, last = len(page.edges), page.edges[-1].position
            result.tallies["foreseen"].count(rows, *foresight.cheapest(query, position, last))
            result.tallies["ideal"].count(rows, 1, rows, capacity_of(page.nodes, ALL))
            result.differing += any(one.nodes != page.nodes for one in pages)
            position = last
    return result


def cost(
    *,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle",
            help="Read the combinations of ratings and languages in a random order, the same in "
            "each run.",
        ),
    ] = False,
) -> None:
    """Compare the cost of pages by several plans, on a temporary engine.

    Reads the first five pages of all 31 combinations of ratings, in all languages and in one.

    "articles": the plan of Alex Reid's articles, on which the data model is based. It reads a full
    page of every selected partition.

    "counts only": the API's plan if it knows only the numbers of comments by rating and language.

    "Marginalia": the API's plan if it also knows the positions of the rows on earlier pages.

    "foreseen": the least cost with the table's indexes, if a plan knew the page's rows.

    "ideal": one Query that reads exactly the page's rows.

    Exit code 1 if the plans return different rows.
    """
    data: dict[str, Callable[[], Iterable[Comment]]] = {
        "Demo data": demo_comments,
        "70 % rated 5": skewed_comments,
    }
    console = Console()
    total = Comparison()
    for name, comments in data.items():
        with tempfile.TemporaryDirectory() as directory:
            compared = asyncio.run(_compared(Path(directory), list(comments()), shuffle=shuffle))
        console.print(_grid(name, compared))
        total += compared
    console.print(_grid("Both", total))
    if total.differing:
        typer.echo(f"{total.differing} pages differ between plans: this is a bug.", err=True)
        raise typer.Exit(1)


async def _compared(directory: Path, rows: Sequence[Comment], *, shuffle: bool) -> Comparison:
    async with open_table(Settings(data_dir=directory), share=False) as table:
        stores = Stores(table)
        await COMMENTS.put(stores)(rows)
        chosen = list(selections(sorted({row.product_id for row in rows}), "en"))
        if shuffle:
            random.Random(_SHUFFLED).shuffle(chosen)  # noqa: S311 - an order, not a secret
        return await compare(table, stores, rows, chosen)


def _grid(name: str, compared: Comparison) -> Grid:
    articles = compared.tallies["articles"]
    grid = Grid(title=f"{name}: {articles.pages:,} pages", title_justify="left")
    grid.add_column("Plan")
    for heading in ("RCU a page", "RCU, articles = 1", "Queries a page", "Queries, articles = 1"):
        grid.add_column(heading, justify="right")
    grid.add_column("Items read / returned", justify="right")
    for way, tally in compared.tallies.items():
        grid.add_row(
            way,
            f"{tally.capacity / tally.pages:.2f}",
            f"{tally.capacity / articles.capacity:.3f}",
            f"{tally.requests / tally.pages:.2f}",
            f"{tally.requests / articles.requests:.3f}",
            f"{tally.items_read / tally.rows:.2f}",
        )
    counts, planned = (
        f"{compared.tallies[way].refills / articles.pages:.3f}"
        for way in ("counts only", "Marginalia")
    )
    grid.caption = (
        "Further Queries per page, sent because a partition's first Query returned too few rows: "
        f"counts only {counts}, Marginalia {planned}"
    )
    return grid
