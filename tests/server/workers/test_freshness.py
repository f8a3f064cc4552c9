"""What one worker writes and another one reads: nothing that a worker remembers hides a comment."""

from pathlib import Path
from typing import Any

import httpx

from tests.server.serving import served
from tests.server.workers.processes import clients_of

ADD = """mutation ($input: AddCommentInput!) {
  addComment(input: $input) { comment { id commentId } userErrors { message } } }"""
DELETE = """mutation ($id: ID!) {
  deleteComment(input: {id: $id}) { deletedId userErrors { message } } }"""
PAGE = """query ($after: String, $rating: [Int!], $language: [String!], $first: Int) {
  product(productId: "42") { comments(
    first: $first, after: $after, rating: $rating, language: $language
  ) { nodes { commentId } pageInfo { hasNextPage endCursor } } } }"""

ALL: dict[str, Any] = {"rating": None, "language": None}


async def ask(client: httpx.AsyncClient, query: str, **variables: object) -> Any:
    answer = (await client.post("/graphql", json={"query": query, "variables": variables})).json()
    assert "errors" not in answer, answer
    return answer["data"]


async def add(client: httpx.AsyncClient, rating: int, language: str) -> tuple[str, str]:
    """Return a new comment's global id and its own."""
    comment = {"productId": "42", "rating": rating, "language": language, "text": "here"}
    made = (await ask(client, ADD, input=comment))["addComment"]["comment"]
    return made["id"], made["commentId"]


async def walk(client: httpx.AsyncClient, first: int, **filters: object) -> list[str]:
    """Return the ids of a list, page by page."""
    found: list[str] = []
    after = None
    while True:
        data = await ask(client, PAGE, first=first, after=after, **filters)
        page = data["product"]["comments"]
        found += [node["commentId"] for node in page["nodes"]]
        if not page["pageInfo"]["hasNextPage"]:
            return found
        after = page["pageInfo"]["endCursor"]


async def test_what_another_worker_wrote_is_seen_and_what_it_deleted_is_not(
    tmp_path: Path,
) -> None:
    """Before each write the reader has just learnt that there is no such comment."""
    with served(tmp_path, "--workers", "2", "--rate-limit", "off") as server:
        async with clients_of(server, 2) as (writer, reader):
            for number in range(12):
                await add(writer, 1 + number % 3, ("en", "de")[number % 2])
            for rating, language in ((4, "en"), (5, "de"), (4, "fr"), (5, "en")):
                lists: list[dict[str, Any]] = [
                    {"rating": [rating], "language": [language]},
                    {"rating": [4, 5], "language": ["de", "en", "fr"]},
                    {"rating": [1, rating], "language": None},
                    ALL,
                ]
                before = [await walk(reader, 3, **one) for one in lists]
                node, comment = await add(writer, rating, language)
                after = [await walk(reader, 3, **one) for one in lists]
                assert after == [[comment, *found] for found in before]
                await ask(writer, DELETE, id=node)
                assert [await walk(reader, 3, **one) for one in lists] == before
