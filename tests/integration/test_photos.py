"""Photos of comments: valid input and output."""

from typing import Any

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.model import Photo
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from resolvers.context import Context
from schema.build import build_schema
from tests.schema.conftest import ANN

PAYLOAD = """{
  comment { id photos { url alt } }
  userErrors { field code message }
}"""
ADD = f"mutation Add($input: AddCommentInput!) {{ addComment(input: $input) {PAYLOAD} }}"
EDIT = f"mutation Edit($input: UpdateCommentInput!) {{ updateComment(input: $input) {PAYLOAD} }}"
URL = "https://p.example/1.jpg?size=9"
ONE = {"url": URL, "alt": "On my stove"}
TWO = {"url": "https://p.example/2.jpg", "alt": ""}


class Client:
    """Sends mutations of the user ann."""

    def __init__(self, schema: Schema, table: Table) -> None:
        self._schema, self.stores = schema, Stores(table)

    async def send(self, operation: str, **given: object) -> Any:
        context = Context(ANN, self.stores)
        result = await self._schema.execute(operation, {"input": given}, context_value=context)
        assert not result.errors
        assert result.data is not None
        (payload,) = result.data.values()
        return payload

    async def add(self, **given: object) -> Any:
        new = {"productId": "photographed", "rating": 5, "language": "en", "text": "Good."}
        return await self.send(ADD, **new | given)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def client(schema: Schema, table: Table) -> Client:
    return Client(schema, table)


async def test_photos_are_added_kept_replaced_and_removed(client: Client) -> None:
    added = (await client.add(photos=[ONE, {"url": TWO["url"]}]))["comment"]
    assert added["photos"] == [ONE, TWO]
    page = await client.stores.comments.page(Selection("photographed"), Slice(9))
    assert [one.photos for one in page.nodes] == [(Photo(**ONE), Photo(**TWO))]
    for changes, left in (
        ({"text": "Better."}, [ONE, TWO]),
        ({"photos": [TWO]}, [TWO]),
        ({"photos": None}, []),
        ({"photos": [ONE]}, [ONE]),
        ({"photos": []}, []),
    ):
        edited = await client.send(EDIT, id=added["id"], **changes)
        assert edited["comment"]["photos"] == left
    assert (await client.add(photos=None))["comment"]["photos"] == []
    assert (await client.add(photos=[]))["comment"]["photos"] == []


@pytest.mark.parametrize(
    ("photos", "field", "value"),
    [
        ([{"url": URL}] * 11, "photos", "11"),
        ([ONE, {"url": "/kettle.jpg"}], "photos.1.url", "URL"),
        ([{"url": "http://p.example/1.jpg"}], "photos.0.url", "URL"),
        ([{"url": "https://ann@p.example/1.jpg"}], "photos.0.url", "URL"),
        ([{"url": f"https://p.example/{'x' * 2_031}"}], "photos.0.url", "2,049"),
        ([{"url": URL, "alt": "x" * 201}], "photos.0.alt", "201"),
    ],
    ids=["too many", "path", "http", "user name", "long address", "long text"],
)
async def test_photos_that_break_a_rule_are_refused(
    client: Client, photos: object, field: str, value: str
) -> None:
    payload = await client.add(photos=photos)
    assert payload["comment"] is None
    (error,) = payload["userErrors"]
    assert (error["field"], error["code"]) == (["input", *field.split(".")], "BAD_ARGUMENT")
    assert value in error["message"]


async def test_a_retry_with_other_photos_is_refused(client: Client) -> None:
    first = await client.add(photos=[ONE], idempotencyKey="photographed")
    again = await client.add(photos=[ONE], idempotencyKey="photographed")
    assert again == first
    other = await client.add(photos=[TWO], idempotencyKey="photographed")
    assert [error["code"] for error in other["userErrors"]] == ["IDEMPOTENCY_KEY_REUSED"]
