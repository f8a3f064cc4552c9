"""Markers: what was done once to a table, such as loading the demo data."""

from dal.client.table import Table
from dal.table.items import Item, primary_key


class MarkerRepository:
    """All access to markers."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def marked(self, name: str) -> bool:
        """Return whether ``mark`` was called with this name on this table."""
        return await self._table.get(_marker(name)) is not None

    async def mark(self, name: str) -> None:
        """Remember in the table that something was done."""
        await self._table.write([{"Put": {"Item": _marker(name)}}])


def _marker(name: str) -> Item:
    return primary_key(f"MARKER#{name}")
