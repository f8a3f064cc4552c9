"""The table and its indexes, declared once; the planner, the readers and `table create` use these.

Every index sort key ends in the item's id, so it is unique and ties in time have one order.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from dal.keys import escape
from dal.model import OrderStatus

TABLE_KEYS = ("PK", "SK")
EXPIRES = "expires"
"""The attribute (unix seconds) after which DynamoDB's time to live may drop an item."""


@dataclass(frozen=True, slots=True)
class Index:
    """One kind of row in one index, as the planner sees it; ``name`` is None for the table itself.

    A partition holds the rows that agree on the ``partition`` fields. Its key is ``entity``, ``#``
    and their values joined by ``between``, or ``entity`` alone where no field divides the rows.
    A sort key is ``label``, the values of the ``prefix`` fields, each with a ``#`` after it, and
    the row's position. Rows of one prefix stand in ``order``.
    """

    name: str | None
    partition_key: str
    sort_key: str
    entity: str
    partition: tuple[str, ...]
    order: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    label: str = ""
    head: str = ""
    """The label of the item that stands at the beginning of each partition's list."""
    between: str = "/"
    shards: int = 1
    """Each partition is spread over this many, by a hash of the row's id."""
    covers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """A sparse index holds only the rows that have these values of these fields."""
    local: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose values select a range of rows."""
        return self.partition + self.prefix

    @property
    def consistent(self) -> bool:
        """Whether a read can be sure to see the latest acknowledged write."""
        return self.local or self.name is None

    def holds(self, values: Mapping[str, str]) -> bool:
        """Return whether a row with ``values`` stands in this index."""
        return all(values[name] in held for name, held in self.covers.items())

    def partition_of(self, values: Mapping[str, str], shard: int = 0) -> str:
        """Return the partition key of the rows that carry ``values``, in one shard."""
        parts = [escape(values[name]) for name in self.partition]
        key = f"{self.entity}#{self.between.join(parts)}" if parts else self.entity
        return f"{key}#{shard}" if self.shards > 1 else key

    def prefix_of(self, values: Mapping[str, str]) -> str:
        """Return what stands before the position in the sort keys of rows with ``values``."""
        return self.label + "".join(f"{escape(values[name])}#" for name in self.prefix)

    def keys_of(self, values: Mapping[str, str], position: str) -> dict[str, dict[str, str]]:
        """Return the index's two key attributes of the row that stands at ``position``.

        The shard follows from the id, the position's last part.
        """
        shard = zlib.crc32(position.rpartition("#")[2].encode()) % self.shards
        return {
            self.partition_key: {"S": self.partition_of(values, shard)},
            self.sort_key: {"S": self.prefix_of(values) + position},
        }


NEWEST = ("created_at", "id")
ITSELF = ("id",)

BY_LANGUAGE_AND_RATING = Index(
    "byLangAndRating", "GSIPK", "GSISK", "PRODUCT", ("product", "language", "rating"), NEWEST
)
BY_LANGUAGE = Index("byLang", "GSI2PK", "GSISK", "PRODUCT", ("product", "language"), NEWEST)
BY_RATING = Index("byRating", "GSI3PK", "GSISK", "PRODUCT", ("product", "rating"), NEWEST)
ALL = Index("all", "GSI4PK", "GSISK", "PRODUCT", ("product",), NEWEST)

COMMENT_INDEXES = (ALL, BY_LANGUAGE, BY_RATING, BY_LANGUAGE_AND_RATING)

# Statistics items share an index with comments: they have its keys while they are on a leaderboard.
MOST_FIVES = ("count_5", "product")
LEADERS = Index("byLangAndRating", "GSIPK", "GSISK", "LEADERS", (), MOST_FIVES)
LEADERS_BY_LANGUAGE = Index(
    "byLangAndRating", "GSIPK", "GSISK", "LEADERS", ("language",), MOST_FIVES
)
LEADER_INDEXES = (LEADERS, LEADERS_BY_LANGUAGE)

OPEN_SHARDS = 8
"""One partition for everyone's open orders would take all writes; a page reads this many."""

ORDERS_BY_DATE = Index("byDate", "PK", "OrderDate", "USER", ("user",), NEWEST, local=True)
ORDERS_BY_STATUS = Index(
    "byStatusDate", "PK", "OrderStatusDate", "USER", ("user",), NEWEST, ("status",), local=True
)
ORDER_BY_ID = Index("GSI1", "GSI1PK", "GSI1SK", "ORDER", ("order",), ITSELF, label="ORDER#")
OPEN_ORDERS = Index(
    "openOrders",
    "PlacedId",
    "OrderDate",
    OrderStatus.PLACED,
    (),
    NEWEST,
    shards=OPEN_SHARDS,
    covers={"status": frozenset({OrderStatus.PLACED})},
)
ORDER_INDEXES = (ORDERS_BY_DATE, ORDERS_BY_STATUS, ORDER_BY_ID, OPEN_ORDERS)

USERS_OF_ORGANIZATION = Index(
    None, "PK", "SK", "ORG", ("organization",), ("username",), label="USER#", head="METADATA#"
)
TICKETS_OF_USER = Index(
    "GSI1",
    "GSI1PK",
    "GSI1SK",
    "ORG",
    ("organization", "username"),
    NEWEST,
    label="TICKET#",
    head="USER#",
    between="#USER#",
)
TICKETS_BY_STATUS = Index(
    "byLangAndRating", "GSIPK", "GSISK", "TICKET", ("organization", "username", "status"), NEWEST
)
ORGANIZATION_INDEXES = (USERS_OF_ORGANIZATION,)
TICKET_INDEXES = (TICKETS_OF_USER, TICKETS_BY_STATUS)
