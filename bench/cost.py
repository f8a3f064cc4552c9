"""The cost of pages: requests, rows and capacity of the ways to read the same pages.

*Seeds* asks every selected partition for a full page, as the articles that this project started
from do. *Counted* is what the API does for rows that it never read: it plans by counts alone.
*Planned* is what the API does, with the row locations of earlier pages. *Foreseen* is the least
that these indexes can do for a page whose rows are known before it is read: what is above it is the
price of not knowing. *Ideal* is one Query that reads exactly the page's rows; no index of five
could offer it for each of the 31 combinations of ratings.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import combinations
from operator import add

from bench.foresight import Foresight, capacity_of
from dal.entities.comment import ALL, COMMENT
from dal.model import RATINGS, Comment
from dal.query.executor import Executor
from dal.query.pagination import Page, PageReader, Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.statistics.table_statistics import ProductStatisticsProvider
from dal.table.client import Table

PAGES = 5
SIZE = 20


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
    """Pages that the first three ways do not agree on: always 0, or something is wrong."""

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
    repository: CommentRepository,
    comments: Sequence[Comment],
    chosen: Iterable[Selection],
) -> Comparison:
    """Walk the first pages of each selection of ``comments``, all that the table holds."""
    seeds = _reader(table, None)
    provider = ProductStatisticsProvider(table.query, repository.statistics, repository.maintenance)
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
                result, plain, await counted.read(query, cut), await repository.page(selection, cut)
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
