"""A server with ``--no-compile`` has the same responses, and executes only with graphql-core."""

import httpx
import pytest

from dal.dynamodb.table import Table
from schema.execution.compiled.operation import _Compiler
from tests.server.applications import serving
from tests.server.serving import ADD, bearer

PAGE = """query ($with: Boolean!) {
  product(productId: "plain") {
    comments(first: 2) { nodes { rating text @include(if: $with) username } totalCount }
    statistics { total average }
  }
  wrong: product(productId: "") { productId }
}"""


async def asked(client: httpx.AsyncClient) -> list[bytes]:
    """Send a request three times, so that the server can compile its document.

    Return the responses.
    """
    body = {"query": PAGE, "variables": {"with": True}}
    return [(await client.post("/graphql", json=body)).content for _ in range(3)]


async def test_plain_execution_has_equal_results(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    comment = {"productId": "plain", "rating": 4, "language": "en", "text": "As ever."}
    async with serving(table) as client:
        body = {"query": ADD, "variables": {"input": comment}}
        await client.post("/graphql", json=body, headers=bearer("ann"))
        compiled = await asked(client)
    assert b"As ever." in compiled[0]

    def refuse(*_: object) -> None:
        raise AssertionError("It was compiled.")

    monkeypatch.setattr(_Compiler, "root", refuse)
    async with serving(table, compiles=False) as client:
        assert await asked(client) == compiled
