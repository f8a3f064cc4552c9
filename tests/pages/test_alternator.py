"""Pages on an endpoint that has no transactions, so that its statistics are unknown."""

from dal.dynamodb.table import Table
from dal.stores import Stores
from pages.addresses import comment_path
from tests.dal.test_alternator import ROWS, address, each_table, endpoint
from tests.pages.conftest import client_of
from tests.putting import put_comments
from tests.server.applications import app_of

__all__ = ["address", "each_table", "endpoint"]


async def test_pages_leave_unknown_statistics_out(each_table: Table) -> None:
    await put_comments(Stores(each_table).comments, ROWS)
    async with client_of(app_of(each_table)) as client:
        page = (await client.get("/products/42?language=xx")).text
        comment = (await client.get(comment_path(ROWS[0].comment_id))).text
    assert "average rating is not available yet" in page
    assert 'class="count"' not in page
    assert "<small>0" not in page
    assert "noindex" not in page
    assert ">All comments on this product<" in comment
