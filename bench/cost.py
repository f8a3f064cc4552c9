"""The cost of pages: requests, rows and capacity of three ways to read the same pages.

*Seeds* asks every selected partition for a full page, as the articles that this project started
from do. *Planned* is what the API does. *Ideal* is one Query that reads exactly the page's rows; no
index of five could offer it for each of the 31 combinations of ratings.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import combinations
from operator import add

from dal.comments import CommentStore, Selection
from dal.costs import BLOCK
from dal.dynamodb import Table
from dal.indexes import COMMENT_INDEXES
from dal.items import decode_comment, encode_comment
from dal.model import RATINGS, Comment
from dal.pages import Page, PageReader
from dal.rows import RowReader
from dal.slices import Slice

PAGES = 5
SIZE = 20

_PROJECTED = {"PK", "SK", "GSI4PK", "GSISK", "rating", "language", "data"}


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
    """The three ways over one set of data."""

    seeds: Tally = field(default_factory=Tally)
    planned: Tally = field(default_factory=Tally)
    ideal: Tally = field(default_factory=Tally)
    refills: int = 0
    differing: int = 0
    """Pages that the first two ways do not agree on: always 0, or something is wrong."""

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(
            self.seeds + other.seeds,
            self.planned + other.planned,
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


async def compare(table: Table, store: CommentStore, chosen: Iterator[Selection]) -> Comparison:
    """Walk the first pages of each selection in all three ways."""
    seeds = PageReader(RowReader(table.query, COMMENT_INDEXES), decode_comment, descending=True)
    result = Comparison()
    for selection in chosen:
        position = None
        for _ in range(PAGES):
            cut = Slice(SIZE, after=position)
            plain = await seeds.read(selection.query(), cut)
            if not plain.edges:
                break
            planned = await store.page(selection, cut)
            _count(result, plain, planned)
            position = plain.edges[-1].position
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
    size = sum(map(_bytes, plain.nodes))
    result.ideal.count(rows, 1, rows, 0.5 * max(1, math.ceil(size / BLOCK)))
    result.refills += sum(segment.refills for segment in planned.reading.segments)
    result.differing += plain.nodes != planned.nodes


def _bytes(comment: Comment) -> int:
    item: Mapping[str, Mapping[str, str]] = encode_comment(comment)
    return sum(
        len(name) + len(next(iter(value.values())).encode())
        for name, value in item.items()
        if name in _PROJECTED
    )
