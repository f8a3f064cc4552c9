"""A scan beside deletions: each item that stays is seen once, wherever the answers end."""

import pytest

from dal.client.scan import SCAN_SEGMENTS, scan_pages
from dal.client.table import Table
from dal.table.items import primary_key

KEYS = [primary_key(f"COMMENT#{number:03}") for number in range(60)]


async def test_the_item_to_go_on_from_may_be_gone(
    each_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await each_table.put_many(KEYS)
    monkeypatch.setattr("dal.client.transport.SCAN_LIMIT", 7)
    deleted, seen = [], []
    for segment in range(SCAN_SEGMENTS):
        async for items, last in scan_pages(each_table, segment):
            seen += [one["PK"]["S"] for one in items]
            if last is not None:
                await each_table.write([{"Delete": {"Key": last}}])
                deleted.append(last["PK"]["S"])
    assert len(deleted) > 5
    everything = {one["PK"]["S"] for one in KEYS}
    assert set(seen) >= everything - set(deleted)
    assert len(seen) == len(set(seen))
