"""Items, actions and their conditions in DynamoDB's form."""

from collections.abc import Iterable
from typing import Any, TypeAlias

Item: TypeAlias = dict[str, Any]
"""Attribute name to AttributeValue: ``{"PK": {"S": "COMMENT#1"}, "rating": {"N": "5"}}``."""

Action: TypeAlias = dict[str, Any]
"""An entry of TransactWriteItems without its table name: ``{"Put": {"Item": …}}``."""

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}
"""Condition: no item has the key."""

PRESENT = {"ConditionExpression": "attribute_exists(PK)"}
"""Condition: an item has the key."""


def primary_key(partition: str, sort: str | None = None) -> Item:
    """Return a primary key.

    Both parts are the same string if the item is alone in its partition.
    """
    return {"PK": {"S": partition}, "SK": {"S": partition if sort is None else sort}}


def key_of(item: Item) -> Item:
    """Return the primary key of an item."""
    return {"PK": item["PK"], "SK": item["SK"]}


def bytes_of(item: Item, names: Iterable[str]) -> int:
    """Return the approximate size of some string and number attributes.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    size = 0
    for name in names:
        if name in item:
            (value,) = item[name].values()
            size += len(name) + len(value if value.isascii() else value.encode())
    return size


def further_units(item: Item) -> int:
    """Return the RCU of a consistent read of an item beyond 1 RCU, the cost of a missing item."""
    return (bytes_of(item, item) - 1) // 4096


def unchanged(item: Item, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the condition that the named attributes equal those of ``item``.

    An attribute that ``item`` lacks must be absent.
    """
    clauses = [
        f"#{name} = :{name}" if name in item else f"attribute_not_exists(#{name})" for name in names
    ]
    values = {f":{name}": item[name] for name in names if name in item}
    return {
        "ConditionExpression": " AND ".join(clauses),
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        **(
            {"ExpressionAttributeValues": values} if values else {}
        ),  # DynamoDB refuses an empty map
    }
