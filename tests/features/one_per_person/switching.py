"""Tables that allow one comment per person and product."""

from dal.counts.mode import MaintenanceStore
from dal.dynamodb.table import Table
from dal.stores import Stores
from features.one_per_person.model import OnePerPerson, extras


async def switched(table: Table, to: OnePerPerson = OnePerPerson.ON) -> Stores:
    """Return the stores of an empty table whose mode allows one comment per person and product."""
    store = MaintenanceStore(table)
    read = await store.read()
    await store.announce(read, extras=extras(read, to))
    return Stores(table)
