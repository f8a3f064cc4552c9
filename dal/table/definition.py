"""The table as DynamoDB is told of it: made from the declared indexes, and compared with them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dal.errors import StoreRefusedError
from dal.table.index import TABLE_KEYS, Index


def table_definition(name: str, indexes: Sequence[Index]) -> dict[str, Any]:
    """Return CreateTable's arguments for the table ``name``."""
    attributes = {*TABLE_KEYS}.union(*(_keys(index) for index in indexes))
    defined = _defined(indexes)
    local = {index.name for index in indexes if index.local}
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": "S"} for attribute in sorted(attributes)
        ],
        "KeySchema": _key_schema(*TABLE_KEYS),
        "LocalSecondaryIndexes": [one for one in defined if one["IndexName"] in local],
        "GlobalSecondaryIndexes": [one for one in defined if one["IndexName"] not in local],
    }


def refuse_outdated(description: Mapping[str, Any], indexes: Sequence[Index]) -> None:
    """Raise StoreRefusedError when a table lacks an index, or what one of them projects.

    ``description`` is DescribeTable's ``Table``. A table of an older version lacks some.
    """
    there = {
        index["IndexName"]: index
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        for index in description.get(kind, [])
    }
    table, defined = description["TableName"], _defined(indexes)
    missing = [one["IndexName"] for one in defined if one["IndexName"] not in there]
    if missing:
        raise StoreRefusedError(
            f"The table {table} lacks {_listed(missing)}: an older version made it, and local "
            "indexes cannot be added, so load the data into a new table."
        )
    differing = [one["IndexName"] for one in defined if not _serves(there[one["IndexName"]], one)]
    if differing:
        raise StoreRefusedError(
            f"In the table {table}, {_listed(differing)} has other keys or projects less than this "
            "version reads: load the data into a new table, or make the index anew."
        )


def _serves(index: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """Return whether an index of a table has the declared keys and projects what is read."""
    projection = index["Projection"]
    shown = projection.get("NonKeyAttributes", [])
    wanted = {*declared["Projection"]["NonKeyAttributes"]}
    complete = projection["ProjectionType"] == "ALL" or wanted <= {*shown}
    return complete and index["KeySchema"] == declared["KeySchema"]


def _listed(names: list[str]) -> str:
    return f"the index{'es' if len(names) > 1 else ''} {', '.join(names)}"


def _defined(indexes: Iterable[Index]) -> list[dict[str, Any]]:
    """Return the indexes as CreateTable takes them; kinds of rows that share one are together."""
    by_name: dict[str, list[Index]] = {}
    for index in indexes:
        if index.name is not None:
            by_name.setdefault(index.name, []).append(index)
    return [
        {
            "IndexName": name,
            "KeySchema": _key_schema(*_keys(kinds[0])),
            "Projection": {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": list(
                    dict.fromkeys(attribute for kind in kinds for attribute in kind.projects)
                ),
            },
        }
        for name, kinds in by_name.items()
    ]


def _keys(index: Index) -> tuple[str, str]:
    return index.partition_key, index.sort_key


def _key_schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]
