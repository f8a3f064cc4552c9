"""The table and its indexes, declared once; the planner, the readers and `table create` use these.

Every index sort key ends in the item's id, so it is unique and ties in time have one order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dal.keys import escape

TABLE_KEYS = ("PK", "SK")
EXPIRES = "expires"
"""The attribute (unix seconds) after which DynamoDB's time to live may drop an item."""


@dataclass(frozen=True, slots=True)
class Index:
    """One index as the planner sees it.

    A partition holds the rows that agree on the ``partition`` fields; its key is ``entity``, ``#``
    and their values joined by ``/``, or ``entity`` alone where no field divides the rows. Rows
    stand in ``order`` within it.
    """

    name: str
    partition_key: str
    sort_key: str
    entity: str
    partition: tuple[str, ...]
    order: tuple[str, ...]

    def partition_of(self, values: Mapping[str, str]) -> str:
        """Return the partition key of the rows that carry ``values``."""
        if not self.partition:
            return self.entity
        parts = (escape(values[field]) for field in self.partition)
        return f"{self.entity}#{'/'.join(parts)}"


NEWEST = ("created_at", "id")

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

_PROJECTED = ["rating", "language", "data"]
"""What a page of comments shows besides its keys."""


def table_definition(name: str) -> dict[str, Any]:
    """Return CreateTable's arguments for the table ``name``."""
    attributes = sorted(
        {*TABLE_KEYS}
        | {index.partition_key for index in COMMENT_INDEXES}
        | {index.sort_key for index in COMMENT_INDEXES}
    )
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "S"} for attribute in attributes
        ],
        "KeySchema": _key_schema(*TABLE_KEYS),
        "GlobalSecondaryIndexes": [_global_index(index) for index in COMMENT_INDEXES],
    }


def _global_index(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition_key, index.sort_key),
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": _PROJECTED},
    }


def _key_schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]
