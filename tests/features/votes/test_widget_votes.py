"""The documents by which the widget reads and changes votes."""

import orjson
import pytest

from dal.dynamodb.table import Table
from pages.page_documents import id_of
from tests.server.applications import serving
from tests.server.serving import bearer


@pytest.mark.parametrize("name", ["widget.votes", "vote.mark", "vote.unmark"])
async def test_no_document_of_a_signed_in_user_is_cached(table: Table, name: str) -> None:
    variables = {"ids": [], "input": {"id": "eA=="}}
    async with serving(table) as client:
        posted = {"documentId": id_of(name), "variables": variables}
        answer = await client.post("/graphql", json=posted, headers=bearer("ann"))
        by_get = await client.get(
            "/graphql",
            params={"documentId": id_of(name), "variables": orjson.dumps(variables).decode()},
        )
    assert "data" in answer.json()
    assert "public" not in by_get.headers.get("cache-control", "")
