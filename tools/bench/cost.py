"""The cost of pages: requests, rows and capacity of the ways to read the same pages.

*Articles* asks every selected partition for a full page, as the articles that this project started
from do. *Counts only* is what the API does for rows that it never read: it plans by counts alone.
*Marginalia* is what the API does, with the row locations of earlier pages. *Foreseen* is the least
these indexes can do for a page with rows that are known before the read; the difference from it is
the price of not knowing. *Ideal* is one Query that reads exactly the page's rows; no index of five
could offer it for each of the 31 combinations of ratings.

Two sets of data are read: the demo's, and a product of which 70 % of the comments are rated 5, the
shape that real shops have.
"""

import asyncio
import random
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from operator import add
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from dal.client.table import Table
from dal.entities.comment import ALL, COMMENT, comment_position
from dal.model import RATINGS, Comment
from dal.query.cost import capacity_of_bytes
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.query.plan import Query
from dal.repositories.comments import Selection
from dal.statistics.reader import ProductStatisticsProvider
from dal.stores import Stores
from dal.table.index import Index
from dal.table.items import bytes_of
from server.demo.demo_data import demo_comments
from server.engine.storage import open_table
from server.settings import Settings

PAGES = 5
SIZE = 20

_SHUFFLED = 7
"""The seed of the order in which shuffled filters are walked."""

_SKEWED = 3_000
"""Comments of the skewed product."""
_START = datetime(2022, 1, 1, tzinfo=UTC)
_WEIGHTS = (6, 4, 7, 13, 70)
_LANGUAGES = {"en": 60, "de": 25, "fr": 15}
_SENTENCE = "the kettle boils fast and pours well but its lid is loose and the cord is short"
_WORDS = tuple(_SENTENCE.split())


def skewed_comments() -> Iterator[Comment]:
    """Yield the same comments each time, oldest first; sizes follow those of the demo data."""
    chance = random.Random(70)  # noqa: S311 - data, not secrets
    for number in range(_SKEWED):
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
    """Comments of several products in list order, newest first."""

    def __init__(self, comments: Iterable[Comment]) -> None:
        self._rows: dict[str, list[Comment]] = {}
        for comment in sorted(comments, key=comment_position):
            self._rows.setdefault(comment.product_id, []).append(comment)
        self._positions = {
            product: [comment_position(row) for row in rows] for product, rows in self._rows.items()
        }

    def cheapest(self, query: Query, after: str | None, last: str) -> tuple[int, int, float]:
        """Return Queries, rows and RCU of the cheapest way from beyond ``after`` to ``last``."""
        rows = self._between(query, after, last)
        ways = [
            _read(index, query, rows)
            for index in COMMENT.indexes
            if set(index.partition) <= query.filters.keys()
        ]
        return min(ways, key=lambda way: way[2])

    def _between(self, query: Query, after: str | None, last: str) -> Sequence[Comment]:
        (product,) = query.filters["product"]
        positions = self._positions[product]
        end = None if after is None else bisect_left(positions, after)
        return self._rows[product][bisect_right(positions, last) - 1 : end]


def _read(index: Index, query: Query, rows: Sequence[Comment]) -> tuple[int, int, float]:
    """Return what it costs to read ``rows`` of the wanted partitions; empty ones are left out."""
    parts: dict[str, list[Comment]] = {}
    for row in rows:
        values = COMMENT.values(row)
        if all(values[name] in query.filters[name] for name in index.partition):
            parts.setdefault(index.partition_of(values), []).append(row)
    read = sum(map(len, parts.values()))
    return len(parts), read, sum(capacity_of(part, index) for part in parts.values())


@dataclass(slots=True)
class Tally:
    """What many pages cost together; capacity is in RCU."""

    pages: int = 0
    rows: int = 0
    requests: int = 0
    items_read: int = 0
    capacity: float = 0.0
    refills: int = 0

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


@dataclass(slots=True)
class Comparison:
    """The ways to read one set of data, side by side."""

    seeds: Tally = field(default_factory=Tally)
    counted: Tally = field(default_factory=Tally)
    planned: Tally = field(default_factory=Tally)
    foreseen: Tally = field(default_factory=Tally)
    ideal: Tally = field(default_factory=Tally)
    differing: int = 0
    """Pages for which the first three plans return different rows: 0 unless there is a bug."""

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(
            self.seeds + other.seeds,
            self.counted + other.counted,
            self.planned + other.planned,
            self.foreseen + other.foreseen,
            self.ideal + other.ideal,
            self.differing + other.differing,
        )


def selections(products: Sequence[str], language: str) -> Iterator[Selection]:
    """Yield every rating subset of each product, in any language and in one."""
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
    """Walk the first pages of each selection of ``comments``, all that the table holds."""
    seeds = _reader(table, None)
    provider = ProductStatisticsProvider(table.query, stores.statistics, stores.maintenance)
    counted = _reader(table, provider)
    foresight = Foresight(comments)
    result = Comparison()
    for selection in chosen:
        query, position = selection.query(), None
        for _ in range(PAGES):
            cut = Slice(SIZE, after=position)
            plain = await seeds.read(query, cut)
            if not plain.edges:
                break
            last = plain.edges[-1].position
            provider.locations.clear()
            _count(
                result,
                plain,
                await counted.read(query, cut),
                await stores.comments.page(selection, cut),
            )
            foreseen = foresight.cheapest(query, position, last)
            result.foreseen.count(len(plain.edges), *foreseen)
            position = last
    return result


def _reader(table: Table, provider: ProductStatisticsProvider | None) -> PageReader[Comment]:
    executor = Executor(table.query, COMMENT.indexes, provider)
    return PageReader(executor, COMMENT.decode_row, descending=True)


def _count(
    result: Comparison, plain: Page[Comment], counted: Page[Comment], planned: Page[Comment]
) -> None:
    rows = len(plain.edges)
    ways = ((result.seeds, plain), (result.counted, counted), (result.planned, planned))
    for tally, page in ways:
        read = page.stats
        tally.count(
            rows,
            read.requests + read.planning_requests,
            read.items_read,
            read.consumed_capacity + read.planning_capacity,
            sum(segment.refills for segment in read.segments),
        )
    result.ideal.count(rows, 1, rows, capacity_of(plain.nodes, ALL))
    result.differing += not plain.nodes == counted.nodes == planned.nodes


def cost(
    *,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Walk the filters in random order, always the same.")
    ] = False,
) -> None:
    """Compare the cost of pages by several plans, on a temporary engine.

    Walks pages 1 to 5 of all 31 combinations of ratings, in any language and one.

    "articles": a full page from every partition, as this project started.

    "counts only": the API's plans where it never read the page's rows before.

    "Marginalia": the API's plans, which remember where rows stood.

    "foreseen": the least these indexes allow for pages known beforehand.

    "ideal": one Query of exactly the page.

    Exit code 1 if two plans read other rows.
    """
    data = {"Demo data": demo_comments, "70 % rated 5": skewed_comments}
    console = Console()
    total = Comparison()
    for name, comments in data.items():
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
        stores = Stores(table)
        await stores.comments.put_many(rows)
        chosen = list(selections(sorted({row.product_id for row in rows}), "en"))
        if shuffle:
            random.Random(_SHUFFLED).shuffle(chosen)  # noqa: S311 - nothing to guess
        return await compare(table, stores, rows, chosen)


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
