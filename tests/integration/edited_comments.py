"""Reads the lists that CONTRIBUTING's recipe adds, with a copy of the code after the recipe."""

import asyncio
import sys
import uuid
from itertools import product
from pathlib import Path
from typing import Any

import dal
from dal.dynamodb.table import TableAddress, connect
from dal.maintenance.tables import create_table
from dal.model import Comment
from dal.stores import Stores
from resolvers.context import Context
from schema.build import build_schema
from tests.oracle import make_comments, newest_first
from tests.putting import put_comments

_PAGE = """
query($edited: Boolean, $rating: [Int!], $language: [String!], $from: DateTime,
    $order: CommentOrder, $after: String) {
  product(productId: "42") {
    comments(edited: $edited, rating: $rating, language: $language, createdFrom: $from,
      orderBy: $order, first: 7, after: $after) {
      nodes { commentId } pageInfo { hasNextPage endCursor }
    }
  }
}
"""
SCHEMA = build_schema()


def context_of(stores: Stores) -> Context:
    return Context(viewer=None, stores=stores)


async def walk(stores: Stores, **wanted: Any) -> list[str]:
    """Return the ids of a list, which is read page by page."""
    ids: list[str] = []
    after = None
    while True:
        answer = await SCHEMA.execute(_PAGE, {**wanted, "after": after}, context_of(stores))
        assert answer.errors is None, answer.errors
        assert answer.data is not None
        page = answer.data["product"]["comments"]
        ids += [node["commentId"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return ids


def kept(row: Comment, edited: bool, rating: list[int] | None, language: list[str] | None) -> bool:
    return (
        (row.updated_at is not None) == edited
        and (rating is None or row.rating in rating)
        and (language is None or row.language in language)
    )


async def main(url: str) -> None:
    rows = [
        row._replace(updated_at=row.created_at if number % 3 == 0 else None)
        for number, row in enumerate(newest_first(make_comments("42", 60, seed=1)))
    ]
    async with connect(TableAddress(f"r-{uuid.uuid4().hex}", url, embedded=True)) as table:
        await create_table(table)
        stores = Stores(table)
        await put_comments(stores.comments, rows)
        lists = list(product((True, False), (None, [5], [1, 4]), (None, ["en"], ["en", "de"])))
        for edited, rating, language in lists:
            wanted: dict[str, Any] = {"edited": edited, "rating": rating, "language": language}
            mine = [row for row in rows if kept(row, **wanted)]
            assert await walk(stores, **wanted) == [row.comment_id for row in mine]
            start = mine[len(mine) // 2].created_at
            late = [row.comment_id for row in reversed(mine) if row.created_at >= start]
            wanted |= {"from": start.isoformat(), "order": "OLDEST"}
            assert await walk(stores, **wanted) == late
        uncounted = _PAGE.replace("pageInfo {", "totalCount pageInfo {")
        answer = await SCHEMA.execute(uncounted, {"edited": True}, context_of(stores))
        assert answer.errors is None
        assert answer.data is not None
        assert answer.data["product"]["comments"]["totalCount"] is None
    print(f"{len(lists)} lists of {Path(str(dal.__file__)).parent} are exact")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
