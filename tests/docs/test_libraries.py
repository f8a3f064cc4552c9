"""The example of the library dal.query reads exact pages from its table."""

import random
from typing import Any

from dal.dynamodb import admin
from dal.dynamodb.table import TableAddress, connect
from dal.query.cursors import decode_cursor
from dal.query.pagination import Slice
from tests.docs.markdown import fences
from tests.docs.pages import living
from tests.engines import dynoxide

LEVELS = ("debug", "info", "error")


async def test_the_example_of_the_query_library_reads_exact_pages() -> None:
    (code,) = [
        one.text for one in fences(living()["docs/libraries/query.md"]) if one.language == "python"
    ]
    names: dict[str, Any] = {}
    exec(code, names)
    draw = random.Random(1)
    days = [f"2026-11-{day:02}T12:00:00.000000Z" for day in (1, 2, 3)]
    lines = [
        {"id": str(n), "device": "d", "level": draw.choice(LEVELS), "at": draw.choice(days)}
        for n in range(60)
    ]
    with dynoxide() as url:
        async with connect(TableAddress("lines", url, embedded=True)) as table:
            await admin.create(table, names["LINE"].indexes)
            await table.put_many([names["LINE"].encode(line) for line in lines])
            found, after = [], None
            while True:
                page = await names["newest"](table, "d", {"info", "error"}, Slice(7, after=after))
                found += page.nodes
                if len(page.nodes) < 7:
                    break
                after = decode_cursor(page.edges[-1].cursor)
    wanted = [line for line in lines if line["level"] != "debug"]
    assert found == sorted(wanted, key=lambda line: (line["at"], line["id"]), reverse=True)
