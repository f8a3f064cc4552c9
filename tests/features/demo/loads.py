"""A load of the demo data into the table of a test."""

import asyncio
from collections.abc import Sequence

from dal.composition import KINDS
from dal.dynamodb.table import Table, TableAddress
from dal.kinds.item_kind import ItemKind
from features.demo.demo_data import DemoLoad
from server.local_engine.storage import Store


def demo_load(table: Table, kinds: Sequence[ItemKind] = KINDS) -> DemoLoad:
    address = TableAddress(table.name, table.service.endpoint_url, embedded=True)
    died: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    return DemoLoad(Store(table, address, "a test", died), kinds)
