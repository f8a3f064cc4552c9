"""The table as DynamoDB is told of it: made from the declared indexes, and compared with them."""

from collections.abc import Mapping
from typing import Any

from dal.errors import StoreRefusedError
from dal.indexes import (
    COMMENT_INDEXES,
    LEADER_INDEXES,
    ORDER_INDEXES,
    ORGANIZATION_INDEXES,
    TABLE_KEYS,
    TICKET_INDEXES,
    Index,
)

DECLARED = (
    *COMMENT_INDEXES,
    *LEADER_INDEXES,
    *ORDER_INDEXES,
    *ORGANIZATION_INDEXES,
    *TICKET_INDEXES,
)
"""Every kind of row in every index; kinds that share an index agree on its key attributes."""

_COMMENT = ("rating", "language", "data")
_ORDER = ("OrderStatusDate", "data")
PROJECTED: Mapping[str, tuple[str, ...]] = {
    "all": _COMMENT,
    "byLang": _COMMENT,
    "byRating": _COMMENT,
    "byLangAndRating": _COMMENT,
    "GSI1": ("status", *_ORDER),
    "openOrders": _ORDER,
    "byDate": _ORDER,
    "byStatusDate": ("data",),
}
"""What pages show of an index besides its keys."""

_BY_NAME: Mapping[str, Index] = {index.name: index for index in DECLARED if index.name is not None}


def table_definition(name: str) -> dict[str, Any]:
    """Return CreateTable's arguments for the table ``name``."""
    attributes = {*TABLE_KEYS}.union(*(_keys(index) for index in DECLARED))
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "S"} for attribute in sorted(attributes)
        ],
        "KeySchema": _key_schema(*TABLE_KEYS),
        "LocalSecondaryIndexes": _defined(local=True),
        "GlobalSecondaryIndexes": _defined(local=False),
    }


def refuse_outdated(description: Mapping[str, Any]) -> None:
    """Raise StoreRefusedError when a table lacks an index, as one of an older version does."""
    there = {
        index["IndexName"]
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        for index in description.get(kind, [])
    }
    missing = [name for name in _BY_NAME if name not in there]
    if missing:
        raise StoreRefusedError(
            f"The table {description['TableName']} lacks {_listed(missing)}: an older version made "
            "it, and local indexes cannot be added, so load the data into a new table."
        )


def _listed(names: list[str]) -> str:
    return f"the index{'es' if len(names) > 1 else ''} {', '.join(names)}"


def _defined(*, local: bool) -> list[dict[str, Any]]:
    return [
        {
            "IndexName": name,
            "KeySchema": _key_schema(*_keys(index)),
            "Projection": {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": list(PROJECTED[name]),
            },
        }
        for name, index in _BY_NAME.items()
        if index.local is local
    ]


def _keys(index: Index) -> tuple[str, str]:
    return index.partition_key, index.sort_key


def _key_schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]
