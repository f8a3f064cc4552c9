"""The maximum size of a response."""

import json
from datetime import UTC, datetime, timedelta

import httpx
from strawberry.types import ExecutionResult

from dal.dynamodb.table import Table
from dal.model import Comment, Photo, Reply
from dal.model.rules import MAX_ADDRESS, MAX_ALT, MAX_PHOTOS, MAX_REPLY
from dal.stores import Stores
from schema.execution.executable_schema import MAX_RESPONSE
from server.http.graphql import graphql_response
from server.http.request import JSON
from tests.putting import put_comments

LONGEST = "🦊" * 10_000
START = datetime(2024, 1, 1, tzinfo=UTC)
PAGE = """
  query Page($first: Int!) {
    product(productId: "9") {
      comments(first: $first) {
        edges { cursor node {
          id commentId text title username rating language createdAt updatedAt verifiedPurchase
          reply { text } photos { url alt }
        } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
"""


def comment(number: int) -> Comment:
    return Comment(
        comment_id=f"longest-{number}",
        product_id="9",
        username="ada",
        rating=5,
        language="en",
        title="🦊" * 200,
        text=LONGEST,
        created_at=START + timedelta(minutes=number),
        reply=Reply("🦊" * MAX_REPLY, START),
        photos=(Photo("x" * MAX_ADDRESS, "🦊" * MAX_ALT),) * MAX_PHOTOS,
    )


async def test_a_page_of_the_longest_comments_is_sent_and_twice_as_many_bytes_are_refused(
    client: httpx.AsyncClient, table: Table
) -> None:
    await put_comments(Stores(table).comments, [comment(number) for number in range(100)])
    answer = await client.post("/graphql", json={"query": PAGE, "variables": {"first": 100}})
    page = answer.json()["data"]["product"]["comments"]
    assert [edge["node"]["text"] for edge in page["edges"]] == [LONGEST] * 100
    assert 7_700_000 < len(answer.content) < MAX_RESPONSE

    twice = PAGE.replace("text", "text again: text", 1)
    answer = await client.post("/graphql", json={"query": twice, "variables": {"first": 100}})
    assert answer.status_code == 200
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert "fewer rows" in error["message"]
    assert answer.json()["data"] is None


def test_the_limit_of_a_response_is_in_bytes() -> None:
    """JSON's syntax, UTF-8 and escapes make the response longer than its text."""
    envelope = len(json.dumps({"data": {"a": ""}}, separators=(",", ":")))
    for text, size in (("a", 1), ("é", 2), ("🦊", 4), ('"', 2), ("\x01", 6)):
        most = (MAX_RESPONSE - envelope) // size
        fits = graphql_response(ExecutionResult({"a": text * most}, None), JSON)
        assert json.loads(bytes(fits.body))["data"] == {"a": text * most}
        beyond = graphql_response(ExecutionResult({"a": text * (most + 1)}, None), JSON)
        assert json.loads(bytes(beyond.body))["data"] is None
