"""What a server does in the background."""

import asyncio
from pathlib import Path

import httpx
import pytest

from dal.counts import deferred
from dal.dynamodb.table import Table
from dal.stores import Stores
from server.serving import open_application
from server.settings import Settings
from tests import oracle
from tests.putting import put_comments

ASKED = """{
  product(productId: "42") { statistics { total } }
  leaderboard { nodes { count product { productId } } }
}"""


async def test_a_server_moves_products_on_leaderboards(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has not moved the product.

    The server notices this when it reads the statistics.
    """
    monkeypatch.setattr(deferred, "WORK_SECONDS", 0.01)
    rows = [row._replace(rating=5) for row in oracle.make_comments("42", 3, seed=1)]
    await put_comments(Stores(table).comments, rows)
    other = Table(table.service, table.name)
    shown: list[object] = []
    async with (
        open_application(Settings(data_dir=tmp_path), other, lambda: None) as app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
    ):
        async with asyncio.timeout(60):
            while not shown:
                answer = await client.post("/graphql", json={"query": ASKED})
                shown = answer.json()["data"]["leaderboard"]["nodes"]
    assert shown == [{"count": 3, "product": {"productId": "42"}}]
    await other.drain()
