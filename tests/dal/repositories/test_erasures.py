"""Running servers learn of each erasure."""

import asyncio

import pytest

from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.table import Table
from dal.repositories import erasures


async def test_a_running_server_reports_each_announced_erasure_once(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasures, "LOOK_SECONDS", 0.01)
    failures = [StoreUnavailableError("The table cannot be reached.")]
    reported: asyncio.Queue[str] = asyncio.Queue()
    get = table.get

    async def failing(key: object) -> object:
        if failures:
            raise failures.pop()
        return await get(key)  # type: ignore[arg-type]

    monkeypatch.setattr(table, "get", failing)
    watching = asyncio.create_task(erasures.watch(table, reported.put_nowait))
    try:
        async with asyncio.timeout(60):
            for erasure in ("first", "second"):
                await erasures.announce(table, erasure)
                assert await reported.get() == erasure
        await asyncio.sleep(0.05)
    finally:
        watching.cancel()
    assert (reported.qsize(), failures) == (0, [])
