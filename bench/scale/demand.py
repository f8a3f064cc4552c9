"""What writing comments asks of each limit, by the table's own declaration of keys.

Three ways to count: *before*, in each write's transaction, boards included, as this project did at
first; *after*, in the transaction the languages' counters alone, and the boards seconds later;
*stream*, by a Lambda function, from writes of one item.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from bench.scale.buckets import Limit
from bench.scale.limits import PARTITION_WCU, TABLE_UNITS, TRANSACTION_ACTIONS
from bench.scale.shop import item_bytes, row_bytes
from dal.entities.comment import COMMENT
from dal.entities.leaderboard import LEADERS
from dal.model import RATINGS, Comment

BOARD = "the board's partition"
COUNTERS = "the counters' item"
TABLE = "the table's quota"
INDEX = "an index's quota"
LIST = "a product's list"
CONFLICTS = "conflicts on the counters"

_SECOND_WRITE = 2
"""A transaction costs twice, and a row whose key changes is deleted and put."""

_BEST = max(RATINGS)

_WATCHED = 1_000
"""Products of a lower rank never come near a partition's limit."""


@dataclass(frozen=True, slots=True)
class Way:
    """How comments are counted, and over how many shards lists are spread."""

    name: str
    reads_first: bool = False
    """Whether a transaction goes by counts that were read before."""
    records: int = 0
    """Items beside each comment: an idempotency record, or a Lambda function's marker."""
    overall: bool = False
    """Whether a product's counter of all languages is in the transaction."""
    board: bool = False
    """Whether the boards' rows are."""
    puts: bool = True
    """Whether comments are: a Lambda function counts what was put before."""
    shards: int = 1
    """Of each of a product's lists."""
    counter_shards: int = 1
    """Of each of its counters, all in one partition: a transaction changes any one of them."""

    def counters(self, group: Sequence[Comment]) -> list[str | None]:
        """Return the counters that a group changes, by language; None is all of them."""
        languages: list[str | None] = [*{one.language for one in group}]
        return [*languages, None] if self.overall else languages

    @property
    def most(self) -> int:
        """How many comments of one product share a transaction, beside a few counters."""
        return (TRANSACTION_ACTIONS - 8) // (self.puts + self.records)


BEFORE = Way("before", reads_first=True, records=1, overall=True, board=True)
AFTER = Way("after")
BY_LAMBDA = Way("stream", records=1, puts=False)


def demands(way: Way, rank: int, group: Sequence[Comment], first: int) -> dict[Limit, float]:
    """Return what one transaction of a product takes; ``first`` numbers its comments for shards."""
    item, row = (math.ceil(size() / 1024) for size in (item_bytes, row_bytes))
    counters = way.counters(group)
    fives = {one.language for one in group if one.rating == _BEST} if way.board else set[str]()
    boards: list[str | None] = [*fives, None] if fives else []
    items = len(group) * (item * way.puts + way.records) + len(counters)
    asked = Counter[Limit]({Limit(TABLE, "", TABLE_UNITS): _SECOND_WRITE * items})
    if way.puts:
        for index in COMMENT.indexes:
            asked[Limit(INDEX, index.name, TABLE_UNITS)] += len(group) * row
    for board in boards:
        asked[Limit(BOARD, board, PARTITION_WCU)] += _SECOND_WRITE
        asked[Limit(INDEX, LEADERS.name, TABLE_UNITS)] += _SECOND_WRITE
    if rank <= _WATCHED:
        asked[Limit(COUNTERS, rank, PARTITION_WCU)] += _SECOND_WRITE * len(counters)
        if way.puts:
            asked.update(put(way, rank, group, first))
    return dict(asked)


def put(way: Way, rank: int, group: Sequence[Comment], first: int) -> Counter[Limit]:
    """Return what new comments of a product take of its lists."""
    asked, row = Counter[Limit](), math.ceil(row_bytes() / 1024)
    for number, comment in enumerate(group, first):
        values, shard = COMMENT.values(comment), crc32(b"%d" % number) % way.shards
        for index in COMMENT.indexes:
            partition = rank, index.name, index.partition_of(values), shard
            asked[Limit(LIST, partition, PARTITION_WCU)] += row
    return asked
