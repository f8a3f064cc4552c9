"""A server for comparison, written with Strawberry and aioboto3 as in their documentation.

It reads a full page of every partition that the filter selects, as in the articles on which
Marginalia's data model is based.

Usage: plain.py PORT ENDPOINT TABLE.
"""

import asyncio
import json
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aioboto3
import strawberry
import uvicorn
from botocore.config import Config
from starlette.applications import Starlette
from starlette.routing import Route
from strawberry.asgi import GraphQL

PORT, ENDPOINT, TABLE = sys.argv[1:]
INSTANT = 27  # length of createdAt in a sort key, before '#' and the id
RATINGS = 5

store: dict[str, Any] = {}


@strawberry.type
class Comment:
    """A comment."""

    id: strawberry.ID
    rating: int
    language: str
    title: str
    text: str
    username: str
    created_at: str


@strawberry.type
class PageInfo:
    """Whether another page follows, and the cursor after which it begins."""

    has_next_page: bool
    end_cursor: str | None


@strawberry.type
class CommentConnection:
    """A page of comments."""

    nodes: list[Comment]
    page_info: PageInfo


def comment_of(item: dict[str, Any]) -> Comment:
    """Return the comment of an item."""
    data = json.loads(item["data"]["S"])
    position = item["GSISK"]["S"]
    return Comment(
        id=strawberry.ID(position[INSTANT + 1 :]),
        rating=int(item["rating"]["N"]),
        language=item["language"]["S"],
        created_at=position[:INSTANT],
        **data,
    )


def partitions(
    product: str, ratings: list[int] | None, languages: list[str] | None
) -> list[tuple[str, str, str]]:
    """Return the index, key attribute and key of each partition that the filter selects."""
    start = f"PRODUCT#{product}"
    if not ratings and not languages:
        return [("all", "GSI4PK", start)]
    if not ratings:
        return [("byLang", "GSI2PK", f"{start}/{language}") for language in languages or []]
    if not languages:
        return [("byRating", "GSI3PK", f"{start}/{rating}") for rating in ratings]
    return [
        ("byLangAndRating", "GSIPK", f"{start}/{language}/{rating}")
        for language in languages
        for rating in ratings
    ]


async def read(partition: tuple[str, str, str], after: str | None, limit: int) -> list[Any]:
    """Return up to ``limit`` items of a partition, newest first, after a position."""
    index, key, value = partition
    names, values = {"#key": key}, {":value": {"S": value}}
    condition = "#key = :value"
    if after:
        names["#position"], values[":after"] = "GSISK", {"S": after}
        condition += " AND #position < :after"
    answer = await store["client"].query(
        TableName=TABLE,
        IndexName=index,
        Limit=limit,
        ScanIndexForward=False,
        KeyConditionExpression=condition,
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=values,
    )
    return list(answer["Items"])


@strawberry.type
class Product:
    """A product."""

    product_id: strawberry.ID

    @strawberry.field
    async def comments(
        self,
        rating: list[int] | None = None,
        language: list[str] | None = None,
        first: int = 20,
        after: str | None = None,
    ) -> CommentConnection:
        """Return a page of the comments, newest first."""
        position = urlsafe_b64decode(after + "=" * (-len(after) % 4)).decode() if after else None
        ratings = None if rating and len(set(rating)) == RATINGS else rating
        lists = await asyncio.gather(
            *(
                read(partition, position, first + 1)
                for partition in partitions(self.product_id, ratings, language)
            )
        )
        items = [item for items in lists for item in items]
        items.sort(key=lambda item: item["GSISK"]["S"], reverse=True)
        page = items[:first]
        last = page[-1]["GSISK"]["S"].encode() if page else None
        cursor = urlsafe_b64encode(last).rstrip(b"=").decode() if last else None
        return CommentConnection(
            nodes=[comment_of(item) for item in page],
            page_info=PageInfo(has_next_page=len(items) > first, end_cursor=cursor),
        )


@strawberry.type
class Query:
    """The query type."""

    @strawberry.field
    def product(self, product_id: strawberry.ID) -> Product:
        """Return a product."""
        return Product(product_id=product_id)

    @strawberry.field
    async def comment(self, comment_id: strawberry.ID) -> Comment | None:
        """Return a comment by its id."""
        key = {"S": f"COMMENT#{comment_id}"}
        answer = await store["client"].get_item(
            TableName=TABLE, Key={"PK": key, "SK": key}, ConsistentRead=True
        )
        return comment_of(answer["Item"]) if "Item" in answer else None


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    """Keep one client of DynamoDB open while the server runs."""
    config = Config(max_pool_connections=64)
    session = aioboto3.Session()
    async with session.client("dynamodb", endpoint_url=ENDPOINT, config=config) as client:
        store["client"] = client
        yield


schema = GraphQL[None, None](strawberry.Schema(Query))
app = Starlette(routes=[Route("/graphql", schema, methods=["POST"])], lifespan=lifespan)
uvicorn.run(app, host="127.0.0.1", port=int(PORT), access_log=False, log_level="warning")
