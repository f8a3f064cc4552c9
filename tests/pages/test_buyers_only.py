"""With --buyers-only, only users to whom a product was delivered may comment on it."""

from collections.abc import AsyncIterator

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.entities.order import purchases
from dal.model import OrderStatus, Photo
from dal.stores import Stores
from pages.comment import BUYERS_ONLY
from pages.list_filters import SWITCHES
from tests.pages.conftest import Parsed, client_of, jwt_of, opened
from tests.putting import put_comments
from tests.server.applications import app_of
from tests.strategies import comment, order

STATED = {"rating": 4, "language": "en", "title": "Good", "text": "It boils."}
ADD = """mutation($input: AddCommentInput!) { addComment(input: $input) {
  comment { verifiedPurchase } userErrors { code field } } }"""


@pytest.fixture
async def shopper(table: Table) -> AsyncIterator[httpx.AsyncClient]:
    """A client that is signed in as ann. Product 1 was delivered to ann."""
    delivered = order(username="ann", status=OrderStatus.DELIVERED)
    await table.put_many([*purchases(delivered)])
    async with client_of(app_of(table, buyers_only=True), jwt_of("ann")) as client:
        yield client


async def test_the_api_accepts_only_buyers_comments(shopper: httpx.AsyncClient) -> None:
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


async def test_the_form_explains_that_only_buyers_may_comment(shopper: httpx.AsyncClient) -> None:
    page = await opened(shopper, "/products/another")
    assert page.text.count(BUYERS_ONLY) == 1
    form = {
        **{name: str(one) for name, one in STATED.items()},
        "form_key": page.fields()["form_key"],
    }
    answer = await shopper.post("/products/another", data=form)
    assert answer.status_code == 422
    assert Parsed(answer.text).text.count(BUYERS_ONLY) == 2, "beside the form, and as its error"


async def test_the_list_can_show_only_comments_of_buyers_or_with_photos(table: Table) -> None:
    rows = [comment(f"c{number}", product_id="1", rating=number + 1) for number in range(3)]
    photos = (Photo("https://shop.example/kettle.jpg"),)
    rows[2] = rows[2]._replace(verified_purchase=True, photos=photos)
    await put_comments(Stores(table).comments, rows)
    async with client_of(app_of(table, explain=True)) as client:
        page = await opened(client, "/products/1")
        assert (len(page.headings), chosen(page)) == (3, set())
        for name, hint, index in (
            ("verified", "by verified purchases.", "byVerified"),
            ("photos", "by photos.", "withPhotos"),
        ):
            page = await opened(client, f"/products/1?{name}=yes&rating=3&language=en")
            assert (len(page.headings), chosen(page)) == (1, {name})
            assert hint in page.text
            anchors = [given["href"] for _, given in page.anchors]
            assert "/products/1?rating=3&language=en" in anchors
            none = await opened(client, f"/products/1?{name}=yes&rating=1")
            assert f"{SWITCHES[name].wider} (1)" in none.text
            account = (await opened(client, f"/products/1?{name}=yes")).account
            assert account["Index"] == index


def chosen(page: Parsed) -> set[str]:
    """Return the names of the checked boxes of the filters for buyers and photos."""
    boxes = [given for _, given in page.elements if given.get("name") in {"verified", "photos"}]
    return {str(given["name"]) for given in boxes if "checked" in given}
