"""Items and actions as DynamoDB takes them: attribute names to AttributeValues."""

from collections.abc import Iterable
from typing import Any, TypeAlias

Item: TypeAlias = dict[str, Any]
"""Attribute name to AttributeValue: ``{"PK": {"S": "COMMENT#1"}, "rating": {"N": "5"}}``."""

Action: TypeAlias = dict[str, Any]
"""An entry of TransactWriteItems without its table name: ``{"Put": {"Item": …}}``."""


def bytes_of(item: Item, names: Iterable[str]) -> int:
    """Return the size of some string and number attributes, about as DynamoDB counts it."""
    return sum(
        len(name) + len(value.encode()) for name in names for value in item.get(name, {}).values()
    )
