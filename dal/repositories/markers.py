"""Marks of finished work: items for the server itself."""

from dal.dynamodb.table import Table
from dal.table.items import Item, primary_key


class MarkerRepository:
    """Marks the work that is done once per table, such as loading the demo data."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def marked(self, name: str) -> bool:
        """Return whether the work ``name`` was done before for this table."""
        return await self._table.get(_marker(name)) is not None

    async def mark(self, name: str) -> None:
        """Store in the table that the work ``name`` is done."""
        await self._table.write([{"Put": {"Item": _marker(name)}}])


def _marker(name: str) -> Item:
    return primary_key(f"MARKER#{name}")
