"""Documents that the server has built in: such as the widget's query."""

from dal.dynamodb.table import Table
from pages.page_documents import BUILT_IN, id_of
from tests.server.applications import serving
from tests.server.serving import bearer

ASKED = {"documentId": id_of("widget"), "variables": '{"productId": "1", "first": 5}'}


async def test_the_widgets_document_is_found_by_its_hash_and_cached_by_shared_caches(
    table: Table,
) -> None:
    async with serving(table, s_maxage=20) as client:
        answer = await client.get("/graphql", params=ASKED)
        known = {"If-None-Match": answer.headers["etag"]}
        again = await client.get("/graphql", params=ASKED, headers=known)
        signed_in = await client.get("/graphql", params=ASKED, headers=bearer("ann"))
    assert answer.json()["data"]["product"]["comments"]["nodes"] == []
    assert answer.headers["cache-control"] == "public, s-maxage=20, stale-while-revalidate=30"
    assert (again.status_code, again.content) == (304, b"")
    assert signed_in.status_code == 200
    assert signed_in.headers["cache-control"] == "private, no-store"


async def test_an_unknown_document_is_not_found(table: Table) -> None:
    unknown = "sha256:" + "0" * 64
    assert unknown.removeprefix("sha256:") not in BUILT_IN
    async with serving(table) as client:
        answer = await client.get("/graphql", params={"documentId": unknown})
    assert answer.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert answer.headers["cache-control"] == "private, no-store"
