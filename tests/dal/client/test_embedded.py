import subprocess
import sys

from dal.client.table import Table
from tests.dal.client.ways import KEYS, ROWS

_STARTS = """
import asyncio, sys
from dal.entities.comment import ALL
from dal.maintenance.tables import create_table
from dal.client.table import TableAddress, connect
from dal.table.index import QueryRequest

async def start(name, url):
    async with connect(TableAddress(name, url, embedded=True)) as table:
        assert not await create_table(table)
        assert len((await table.query(QueryRequest(ALL, "PRODUCT#42"))).items) == 20
    async with connect(TableAddress(name + "-new", url, embedded=True)) as table:
        assert await create_table(table)
        assert not {"aioboto3", "botocore"} & sys.modules.keys()
        await table.scan(0, 1, None)
        assert "aioboto3" in sys.modules

asyncio.run(start(*sys.argv[1:]))
"""


async def test_a_start_and_a_page_need_no_sdk(each_table: Table) -> None:
    await each_table.put_many(ROWS)
    url = each_table.service.endpoint_url
    done = subprocess.run(  # noqa: ASYNC221 - it is waited for, and nothing else runs
        [sys.executable, "-c", _STARTS, each_table.name, url],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert await each_table.get(KEYS[0]) == ROWS[0]
