"""Pages do not need the SDK, and a scan of the embedded engine survives deletions."""

import subprocess
import sys

import pytest

from dal.dynamodb.scan import SCAN_SEGMENTS, scan_pages
from dal.dynamodb.table import Table
from dal.table.items import primary_key
from tests.dal.dynamodb.ways import KEYS, ROWS

_STARTS = """
import asyncio, sys
from dal.dynamodb import gate, retries
from dal.entities.comment import ALL
from dal.maintenance.tables import create_table
from dal.dynamodb.table import TableAddress, connect
from dal.table.index import QueryRequest

retries.DEADLINE = gate.MAINTENANCE_SECONDS = 300  # the import may take long on a busy machine

async def start(name, url, unwanted):
    embedded = unwanted == "botocore"
    async with connect(TableAddress(name, url, embedded)) as table:
        assert not await create_table(table)
        assert len((await table.query(QueryRequest(ALL, "PRODUCT#42"))).items) == 20
    async with connect(TableAddress(f"{name}-{unwanted}", url, embedded)) as table:
        assert await create_table(table)
        await table.put_many([{"PK": {"S": "a"}, "SK": {"S": "a"}}])
        assert not {"aioboto3", unwanted} & sys.modules.keys()
        await table.scan(0, 1, None)
        assert "aioboto3" in sys.modules

asyncio.run(start(*sys.argv[1:]))
"""


@pytest.mark.parametrize("unwanted", ["botocore", "aiohttp"], ids=["embedded", "by URL"])
async def test_the_start_the_load_of_the_demo_and_a_page_do_not_import_the_sdk(
    table: Table, monkeypatch: pytest.MonkeyPatch, unwanted: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    await table.put_many(ROWS)
    url = table.service.endpoint_url
    done = subprocess.run(  # noqa: ASYNC221 - it is waited for, and nothing else runs
        [sys.executable, "-c", _STARTS, table.name, url, unwanted],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert await table.get(KEYS[0]) == ROWS[0]


SCANNED = [primary_key(f"COMMENT#{number:03}") for number in range(60)]


async def test_a_scan_continues_although_the_item_it_continues_from_was_deleted(
    each_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await each_table.put_many(SCANNED)
    monkeypatch.setattr("dal.dynamodb.wire.SCAN_LIMIT", 7)
    deleted, seen = [], []
    for segment in range(SCAN_SEGMENTS):
        async for items, last in scan_pages(each_table, segment):
            seen += [one["PK"]["S"] for one in items]
            if last is not None:
                await each_table.write([{"Delete": {"Key": last}}])
                deleted.append(last["PK"]["S"])
    assert len(deleted) > 5
    everything = {one["PK"]["S"] for one in SCANNED}
    assert set(seen) >= everything - set(deleted)
    assert len(seen) == len(set(seen))
