"""Conditions of writes, as the parts of a TransactWriteItems action."""

from typing import Any

from dal.table.item import Item

ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}
"""No item is under the key."""

PRESENT = {"ConditionExpression": "attribute_exists(PK)"}
"""An item is under the key."""


def unchanged(item: Item, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the condition that some attributes, or their absence, are as in ``item``."""
    clauses = [
        f"#{name} = :{name}" if name in item else f"attribute_not_exists(#{name})" for name in names
    ]
    values = {f":{name}": item[name] for name in names if name in item}
    return {
        "ConditionExpression": " AND ".join(clauses),
        "ExpressionAttributeNames": {f"#{name}": name for name in names},
        **({"ExpressionAttributeValues": values} if values else {}),  # an empty map is refused
    }
