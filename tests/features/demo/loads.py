"""A load of the demo data into the table of a test."""

import asyncio

from dal.dynamodb.table import Table, TableAddress
from features.demo.demo_data import DemoLoad
from server.local_engine.storage import Store


def demo_load(table: Table) -> DemoLoad:
    address = TableAddress(table.name, table.service.endpoint_url, embedded=True)
    died: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    return DemoLoad(Store(table, address, "a test", died))
