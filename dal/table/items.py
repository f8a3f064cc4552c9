"""Items, actions and their conditions in DynamoDB's form."""

import secrets
from collections.abc import Iterable
from typing import Any, TypeAlias

Item: TypeAlias = dict[str, Any]
"""Attribute names and AttributeValues: ``{"PK": {"S": "COMMENT#1"}, "rating": {"N": "5"}}``."""

Action: TypeAlias = dict[str, Any]
"""An action of TransactWriteItems, without the table's name: ``{"Put": {"Item": …}}``."""

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}
"""A condition: the table has no item with this key."""

PRESENT = {"ConditionExpression": "attribute_exists(PK)"}
"""A condition: the table has an item with this key."""


VERSION = "version"
"""The attribute (S) with the version of an item: a random text that each write replaces.

A write whose condition compares the version succeeds at most once. Without it, a first attempt that
the network delays could succeed again after its retry and the opposite write.
"""


def versioned(item: Item) -> Item:
    """Return an item with a new version."""
    return item | {VERSION: {"S": secrets.token_hex(6)}}


def replacement(held: Item | None, new: Item) -> Action:
    """Return an action that stores ``new`` as a new version of the item ``held``.

    The action fails if the stored item has changed since ``held`` was read. ``held`` is None if
    there was no item.
    """
    return {"Put": {"Item": versioned(new), **unchanged(held, ("PK", "data", VERSION))}}


def contents(item: Item) -> Item:
    """Return an item without its version."""
    return {name: value for name, value in item.items() if name != VERSION}


def primary_key(partition: str, sort: str | None = None) -> Item:
    """Return a primary key.

    Without ``sort``, PK and SK are the same string. Such an item is alone in its partition.
    """
    return {"PK": {"S": partition}, "SK": {"S": partition if sort is None else sort}}


def key_of(item: Item) -> Item:
    """Return the primary key of an item."""
    return {"PK": item["PK"], "SK": item["SK"]}


def key_pair(item: Item) -> tuple[str, str]:
    """Return the two strings of an item's primary key."""
    return item["PK"]["S"], item["SK"]["S"]


def bytes_of(item: Item, names: Iterable[str]) -> int:
    """Return the approximate size in bytes of an item's attributes with ``names``.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    size = 0
    for name in names:
        if name in item:
            (value,) = item[name].values()
            size += len(name) + _size(value)
    return size


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    if isinstance(value, dict):
        return sum(len(name) + _size(one) for name, one in value.items())
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, bytes) else 1  # 1 for BOOL and NULL


def further_units(item: Item) -> int:
    """Return the RCU by which a consistent read of an item exceeds the 1 RCU of a missing item."""
    return (bytes_of(item, item) - 1) // 4096


def unchanged(item: Item | None, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the condition that the stored item still has the values of ``item``.

    The condition compares the attributes ``names``. If ``item`` lacks one of them, the stored item
    must lack it too. If ``item`` is None, the condition is ABSENT.
    """
    if item is None:
        return ABSENT
    clauses = [
        f"#{name} = :{name}" if name in item else f"attribute_not_exists(#{name})" for name in names
    ]
    values = {f":{name}": item[name] for name in names if name in item}
    return {
        "ConditionExpression": " AND ".join(clauses),
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        **(
            {"ExpressionAttributeValues": values} if values else {}
        ),  # DynamoDB rejects an empty map of values
    }


def delete(item: Item) -> Action:
    """Return an action that deletes an item; it fails if the item has changed since it was read."""
    return {"Delete": {"Key": key_of(item), **as_read(item)}}


def as_read(item: Item) -> dict[str, Any]:
    """Return the condition that no attribute of the stored item differs from ``item``."""
    return unchanged(item, tuple({**item, VERSION: None}))
