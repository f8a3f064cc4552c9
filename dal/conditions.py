"""Conditions of writes, as the parts of a TransactWriteItems action."""

from typing import Any

from dal.items import Item

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}
"""No item is under the key."""

PRESENT = {"ConditionExpression": "attribute_exists(PK)"}
"""An item is under the key."""


def unchanged(item: Item) -> dict[str, Any]:
    """Return the condition that a comment is still as ``item``: its filters, place and data."""
    return {
        "ConditionExpression": "GSIPK = :partition AND GSISK = :position AND #data = :data",
        "ExpressionAttributeNames": {"#data": "data"},
        "ExpressionAttributeValues": {
            ":partition": item["GSIPK"],
            ":position": item["GSISK"],
            ":data": item["data"],
        },
    }
