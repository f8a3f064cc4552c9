"""Clients that write and walk, each request at any of the servers."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import httpx

from tests import oracle
from tests.server.serving import bearer
from tests.trials.processes.ledger import Filters, Ledger, Row, faults_of_walk, row_of

_NODE = "id commentId createdAt rating language title"
ADD = f"""mutation ($i: AddCommentInput!) {{ addComment(input: $i) {{ comment {{ {_NODE} }}
  userErrors {{ code }} }} }}"""
UPDATE = f"""mutation ($i: UpdateCommentInput!) {{ updateComment(input: $i) {{ comment {{ {_NODE} }}
  userErrors {{ code }} }} }}"""
DELETE = """mutation ($id: ID!) { deleteComment(input: {id: $id}) { deletedId
  userErrors { code } } }"""
PAGE = f"""query ($rating: [Int!], $language: [String!], $first: Int, $after: String, $last: Int,
    $before: String) {{ product(productId: "42") {{ comments(rating: $rating, language: $language,
    first: $first, after: $after, last: $last, before: $before) {{ nodes {{ {_NODE} }}
    pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"""
COUNTS = """{ product(productId: "42") { statistics { total histogram { rating count } } } }"""


class Client:
    """Asks any of the servers, by connections that it keeps."""

    def __init__(self, urls: Sequence[str], seed: int) -> None:
        self.dice = random.Random(seed)
        self._clients = [
            httpx.AsyncClient(base_url=url, headers=bearer("ann"), timeout=60) for url in urls
        ]

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

    async def ask(self, query: str, at: int | None = None, **variables: Any) -> Any:
        """Return the data of an answer; AssertionError for any other."""
        client = self.dice.choice(self._clients) if at is None else self._clients[at]
        answer = await client.post("/graphql", json={"query": query, "variables": variables})
        assert answer.status_code == 200, answer.text
        data = answer.json()
        assert "errors" not in data, data
        return data["data"]

    async def walk(self, filters: Filters, *, backward: bool, at: int | None = None) -> list[Row]:
        """Return a whole list, each page from any of the servers, or from one."""
        size, cursor, rows = self.dice.randrange(3, 40), None, list[Row]()
        names = ("last", "before") if backward else ("first", "after")
        while True:
            asked = {names[0]: size, names[1]: cursor} | filters._asdict()
            page = (await self.ask(PAGE, at, **asked))["product"]["comments"]
            nodes, info = list(map(row_of, page["nodes"])), page["pageInfo"]
            rows = nodes + rows if backward else rows + nodes
            if not info["hasPreviousPage" if backward else "hasNextPage"]:
                return rows
            cursor = info["startCursor" if backward else "endCursor"]

    def filters(self) -> Filters:
        """Return the filters of any list."""
        languages = self.dice.choice(oracle.LANGUAGE_CHOICES)
        ratings = self.dice.choice([None, *oracle.RATING_SUBSETS])
        return Filters(
            None if ratings is None else sorted(ratings),
            None if languages is None else sorted(languages),
        )


class Writer(Client):
    """Adds, edits and deletes comments of its own, and repeats much of that at another server."""

    def __init__(self, urls: Sequence[str], number: int, ledger: Ledger) -> None:
        super().__init__(urls, number)
        self._number = number
        self._ledger = ledger
        self._own: list[Row] = []
        self._count = 0

    async def write(self, writes: int) -> None:
        """Write so many times, one write after another."""
        for _ in range(writes):
            choice = self.dice.random() if len(self._own) > 5 else 0.0
            await (self._add if choice < 0.5 else self._edit if choice < 0.8 else self._delete)()

    def _said(self) -> dict[str, Any]:
        self._count += 1
        language = self.dice.choice(oracle.LANGUAGES)
        title = f"{self._number}.{self._count}"
        return {"rating": self.dice.randint(1, 5), "language": language, "title": title}

    async def _add(self) -> None:
        """Add a comment: once, twice at once, or again later; it is one comment."""
        said = self._said() | {"productId": "42", "text": "here"}
        said["idempotencyKey"] = f"key {said['title']}"
        answers = [self._added(said) for _ in range(self.dice.choice((1, 1, 2)))]
        rows = await asyncio.gather(*answers)
        self._own.append(rows[0])
        self._ledger.end("ADDED", rows[0])
        if self.dice.random() < 0.3:
            rows.append(await self._added(said))
        assert len(set(rows)) == 1, rows

    async def _added(self, said: dict[str, Any]) -> Row:
        payload = (await self.ask(ADD, i=said))["addComment"]
        assert not payload["userErrors"], payload
        return row_of(payload["comment"])

    async def _edit(self) -> None:
        place = self.dice.randrange(len(self._own))
        node = self._own[place].node
        self._ledger.begin(node)
        payload = (await self.ask(UPDATE, i={"id": node, **self._said()}))["updateComment"]
        assert not payload["userErrors"], payload
        self._own[place] = row_of(payload["comment"])
        self._ledger.end("CHANGED", self._own[place])

    async def _delete(self) -> None:
        """Delete a comment, and sometimes again: it is gone then, and nothing else is."""
        row = self._own.pop(self.dice.randrange(len(self._own)))
        self._ledger.begin(row.node)
        assert (await self.ask(DELETE, id=row.node))["deleteComment"]["deletedId"] == row.node
        self._ledger.end("DELETED", row)
        if self.dice.random() < 0.3:
            again = (await self.ask(DELETE, id=row.node))["deleteComment"]
            assert again["userErrors"] or again["deletedId"] == row.node


class Walker(Client):
    """Walks lists while others write."""

    def __init__(self, urls: Sequence[str], number: int, ledger: Ledger) -> None:
        super().__init__(urls, -number - 1)
        self._ledger = ledger
        self.walks = 0
        self.faults: list[str] = []

    async def walk_until(self, ended: asyncio.Event) -> None:
        """Walk one list after another."""
        while not ended.is_set():
            filters, since = self.filters(), self._ledger.writes
            before = self._ledger.stable(since, self._ledger.listed(filters))
            walked = await self.walk(filters, backward=self.dice.random() < 0.5)
            self.faults += faults_of_walk(self._ledger, filters, since, before, walked)
            self.walks += 1
