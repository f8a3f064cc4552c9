"""With --buyers-only, comments are for users to whom the product was delivered."""

from collections.abc import AsyncIterator

import httpx
import pytest

from dal.client.table import Table
from dal.entities.order import purchases
from dal.model import OrderStatus
from dal.stores import Stores
from tests.server.applications import app_of
from tests.server.pages.conftest import Parsed, client_of, jwt_of, opened
from tests.strategies import comment, order

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


async def test_the_list_can_show_buyers_alone(table: Table) -> None:
    rows = [
        comment(f"c{number}", product_id="1", rating=number + 1, verified_purchase=number == 2)
        for number in range(3)
    ]
    await Stores(table).comments.put_many(rows)
    async with client_of(app_of(table, explain=True)) as client:
        page = await opened(client, "/products/1")
        assert (len(page.headings), chosen(page)) == (3, False)
        page = await opened(client, "/products/1?verified=yes&rating=3&language=en")
        assert (len(page.headings), chosen(page)) == (1, True)
        assert "Verified purchases are not counted" in page.text
        assert "/products/1?rating=3&language=en" in [given["href"] for _, given in page.anchors]
        none = await opened(client, "/products/1?verified=yes&rating=1")
        assert "Also without a purchase (1)" in none.text
        account = (await opened(client, "/products/1?verified=yes")).account
        assert account["Index"] == "byVerified"


def chosen(page: Parsed) -> bool:
    """Say whether the box of verified purchases is checked."""
    return any("checked" in given for _, given in page.elements if given.get("id") == "verified")
