"""Reads the items of a table."""

from dal.dynamodb.scan import scan_all
from dal.dynamodb.table import Table
from dal.table.items import Item


async def all_items(table: Table) -> list[Item]:
    """Return every item of a table."""
    items: list[Item] = []
    await scan_all(table, lambda _: None, items.extend)
    return items
