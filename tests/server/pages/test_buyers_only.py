"""With --buyers-only, comments are for users to whom the product was delivered."""

from collections.abc import AsyncIterator

import httpx
import pytest

from dal.client.table import Table
from dal.entities.order import purchases
from dal.model import OrderStatus
from tests.server.applications import app_of
from tests.server.pages.conftest import Parsed, client_of, jwt_of, opened
from tests.strategies import order

STATED = {"rating": 4, "language": "en", "title": "Good", "text": "It boils."}
SENTENCE = "Only customers who have received this product can comment on it."
ADD = """mutation($input: AddCommentInput!) { addComment(input: $input) {
  comment { verifiedPurchase } userErrors { code field } } }"""


@pytest.fixture
async def shopper(table: Table) -> AsyncIterator[httpx.AsyncClient]:
    """Ann, who has received the product 1."""
    delivered = order(username="ann", status=OrderStatus.DELIVERED)
    await table.put_many([*purchases(delivered)])
    async with client_of(app_of(table, buyers_only=True), jwt_of("ann")) as client:
        yield client


async def test_the_api_takes_comments_of_buyers(shopper: httpx.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {jwt_of('ann')}"}
    payloads = []
    for product_id in (order().lines[0].product_id, "another"):
        asked = {"query": ADD, "variables": {"input": STATED | {"productId": product_id}}}
        answer = (await shopper.post("/graphql", json=asked, headers=headers)).json()
        payloads.append(answer["data"]["addComment"])
    assert payloads == [
        {"comment": {"verifiedPurchase": True}, "userErrors": []},
        {"comment": None, "userErrors": [{"code": "NOT_BOUGHT", "field": None}]},
    ]


async def test_the_form_says_so(shopper: httpx.AsyncClient) -> None:
    page = await opened(shopper, "/products/another")
    assert page.text.count(SENTENCE) == 1
    form = {
        **{name: str(one) for name, one in STATED.items()},
        "form_key": page.fields()["form_key"],
    }
    answer = await shopper.post("/products/another", data=form)
    assert answer.status_code == 422
    assert Parsed(answer.text).text.count(SENTENCE) == 2, "beside the form, and as its error"
