"""The shop of the simulation: ten million products, a billion comments by Zipf's law."""

import math
import random
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from itertools import accumulate, cycle
from statistics import fmean
from uuid import UUID

from bench.scale.limits import PARTITION_BYTES
from bench.skewed import skewed_comments
from dal.entities.comment import ALL, COMMENT
from dal.entities.order import ORDER
from dal.model import Comment, Money, Order, OrderLine, OrderStatus
from dal.table.item import bytes_of

PRODUCTS = 10_000_000
COMMENTS = 1_000_000_000

_EULER = 0.5772156649015329
_SUMMED = 1_000
"""Ranks whose share is summed; beyond them the logarithm is as good."""


class Zipf:
    """Ranks from 1 on: the second is half as frequent as the first, the third a third as much."""

    def __init__(self, products: int = PRODUCTS) -> None:
        self._products = products
        self._head = list(accumulate(1 / rank for rank in range(1, _SUMMED + 1)))
        self._all = math.log(products) + _EULER

    def share(self, rank: int) -> float:
        """Return which part of all stands at one rank."""
        return 1 / rank / self._all

    def rank(self, chance: random.Random) -> int:
        """Return a rank."""
        place = chance.random() * self._all
        if place < self._head[-1]:
            return bisect_left(self._head, place) + 1
        return min(self._products, int(math.exp(place - _EULER)) + 1)


@cache
def _comments() -> list[Comment]:
    return list(skewed_comments())


def comments(chance: random.Random) -> Iterator[Comment]:
    """Yield comments without end: 70 % rated 5, 60 % in one language."""
    shuffled = chance.sample(_comments(), len(_comments()))
    return cycle(shuffled)


@cache
def item_bytes() -> float:
    """Return the mean size of a comment's item."""
    items = map(COMMENT.encode, _comments())
    return fmean(bytes_of(item, item) for item in items)


@cache
def row_bytes() -> float:
    """Return the mean size of a comment in an index."""
    items = map(COMMENT.encode, _comments())
    return fmean(bytes_of(item, ALL.attributes) for item in items)


def partitions() -> int:
    """Return how many partitions a billion comments take; their stream has as many shards."""
    return math.ceil(COMMENTS * item_bytes() / PARTITION_BYTES)


def order_bytes() -> float:
    """Return what an order of three lines takes of its user's item collection."""
    price = Money(Decimal("19.90"), "EUR")
    lines = tuple(OrderLine(f"B000G6RYN{number}", 1, price) for number in range(3))
    order = Order(
        order_id=str(UUID(int=1)),
        username="ana.kowalska",
        status=OrderStatus.DELIVERED,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        lines=lines,
    )
    item = ORDER.encode(order)
    rows = [bytes_of(item, index.attributes) for index in ORDER.indexes if index.local]
    return bytes_of(item, item) + sum(rows)
