"""Foresight: what a page costs at least on the indexes there are, its rows known beforehand."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from dal.entities.comment import COMMENT, comment_position
from dal.model import Comment
from dal.query.cost_model import capacity_of_bytes
from dal.query.query import Query
from dal.table.index import Index
from dal.table.item import bytes_of


def capacity_of(comments: Iterable[Comment], index: Index) -> float:
    """Return the RCU of one Query of ``index`` that reads exactly these rows."""
    return capacity_of_bytes(sum(_bytes(comment, index) for comment in comments))


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


def _bytes(comment: Comment, index: Index) -> int:
    return bytes_of(COMMENT.encode(comment), index.attributes)
