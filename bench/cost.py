"""The cost of pages: requests, rows and capacity of three ways to read the same pages.

*Seeds* asks every selected partition for a full page, as the articles that this project started
from do. *Planned* is what the API does. *Foreseen* is the least that these indexes can do for a
page whose rows are known before it is read: what is above it is the price of not knowing. *Ideal*
is one Query that reads exactly the page's rows; no index of five could offer it for each of the 31
combinations of ratings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import combinations
from operator import add

from bench.foresight import Timeline, capacity_of
from dal.comments import CommentStore, Selection
from dal.dynamodb import Table
from dal.indexes import ALL, COMMENT_INDEXES
from dal.items import decode_comment
from dal.model import RATINGS, Comment
from dal.pages import Page, PageReader
from dal.rows import RowReader
from dal.slices import Slice

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

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*map(add, astuple(self), astuple(other)))

    def count(self, rows: int, requests: int, items_read: int, capacity: float) -> None:
        """Count one page."""
        self.pages += 1
        self.rows += rows
        self.requests += requests
        self.items_read += items_read
        self.capacity += capacity


@dataclass(slots=True)
class Comparison:
    """The ways to read one set of data, side by side."""

    seeds: Tally = field(default_factory=Tally)
    planned: Tally = field(default_factory=Tally)
    foreseen: Tally = field(default_factory=Tally)
    ideal: Tally = field(default_factory=Tally)
    refills: int = 0
    differing: int = 0
    """Pages that the first two ways do not agree on: always 0, or something is wrong."""

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(
            self.seeds + other.seeds,
            self.planned + other.planned,
            self.foreseen + other.foreseen,
            self.ideal + other.ideal,
            self.refills + other.refills,
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
    table: Table, store: CommentStore, comments: Sequence[Comment], chosen: Iterator[Selection]
) -> Comparison:
    """Walk the first pages of each selection of ``comments``, all that the table holds."""
    seeds = PageReader(RowReader(table.query, COMMENT_INDEXES), decode_comment, descending=True)
    timeline = Timeline(comments)
    result = Comparison()
    for selection in chosen:
        query, position = selection.query(), None
        for _ in range(PAGES):
            cut = Slice(SIZE, after=position)
            plain = await seeds.read(query, cut)
            if not plain.edges:
                break
            planned = await store.page(selection, cut)
            last = plain.edges[-1].position
            _count(result, plain, planned)
            result.foreseen.count(len(plain.edges), *timeline.cheapest(query, position, last))
            position = last
    return result


def _count(result: Comparison, plain: Page[Comment], planned: Page[Comment]) -> None:
    rows = len(plain.edges)
    for tally, page in ((result.seeds, plain), (result.planned, planned)):
        read = page.reading
        tally.count(
            rows,
            read.requests + read.planning_requests,
            read.items_read,
            read.consumed_capacity + read.planning_capacity,
        )
    result.ideal.count(rows, 1, rows, capacity_of(plain.nodes, ALL))
    result.refills += sum(segment.refills for segment in planned.reading.segments)
    result.differing += plain.nodes != planned.nodes
