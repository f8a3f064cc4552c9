"""Clients that write comments and read lists, and a ledger of the acknowledged writes."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests import oracle
from tests.engines import dynoxide
from tests.engines.redis import redis_server
from tests.server.serving import AWS, Served, bearer, called
from tools.trials.listeners import Listener
from tools.trials.serving import serving

_NODE = "{ id commentId createdAt rating language title }"
WRITE = f"""mutation ($i: %sInput!) {{ done: %s(input: $i) {{ comment {_NODE}
  userErrors {{ code }} }} }}"""
DELETE = "mutation ($i: DeleteCommentInput!) { done: deleteComment(input: $i) { deletedId } }"
PAGE = f"""query ($rating: [Int!], $language: [String!], $first: Int, $after: String) {{
  product(productId: "42") {{ statistics {{ histogram {{ rating count }} }}
    comments(rating: $rating, language: $language, first: $first, after: $after) {{
      nodes {_NODE} pageInfo {{ hasNextPage endCursor }} }} }} }}"""

NEVER = 1 << 62
SILENCE = 60
"""Seconds without an event after which a trial stops waiting for missing events."""


class Filters(NamedTuple):
    """The filters of a list. None selects all."""

    rating: Sequence[int] | None = None
    language: Sequence[str] | None = None

    def keep(self, row: "Row") -> bool:
        """Return whether the list contains a row."""
        rated = self.rating is None or row.rating in self.rating
        return rated and (
            self.language is None
            or any(oracle.found_by(asked, row.language) for asked in self.language)
        )


class Row(NamedTuple):
    """A comment as the API returns it."""

    node: str
    comment_id: str
    created_at: str
    rating: int
    language: str
    title: str

    @property
    def position(self) -> tuple[str, str]:
        """The comment's position. Lists are in descending order."""
        return self.created_at, self.comment_id


@dataclass
class Ledger:
    """The acknowledged comments of one product, and the time of each write."""

    rows: dict[str, Row] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    """The kind of event that each write causes."""
    acknowledged: dict[str, float] = field(default_factory=dict)
    """The time at which each write was acknowledged, by the comment's title."""
    touched: dict[str, int] = field(default_factory=dict)
    """The number of each comment's last write, or NEVER while a write is running."""

    def begin(self, node: str) -> None:
        """Note that a write of a comment has begun."""
        self.touched[node] = NEVER

    def end(self, kind: str, row: Row) -> None:
        """Note that a write was acknowledged, with the comment's new content."""
        self.writes.append(kind)
        self.touched[row.node] = len(self.writes)
        self.acknowledged[row.title] = time.perf_counter()
        self.rows[row.node] = row
        if kind == "DELETED":
            del self.rows[row.node]

    def titles(self) -> dict[str, str]:
        """Return the titles that the list without filters must have now, by id."""
        return {row.node: row.title for row in self.rows.values()}

    def listed(self, filters: Filters) -> list[Row]:
        """Return the rows that a list must have now."""
        kept = [row for row in self.rows.values() if filters.keep(row)]
        return sorted(kept, key=lambda row: row.position, reverse=True)

    def faults(
        self, filters: Filters, since: int, before: list[Row], walked: list[Row]
    ) -> list[str]:
        """Return the faults of a list that was read while the writes after ``since`` were running.

        A row of ``before`` must be in the list once, in its order, unless it was written later.
        """
        same = {row for row in (*before, *walked) if self.touched.get(row.node, NEVER) <= since}
        wrong = {
            "rows out of order, or twice": any(
                one.position <= other.position for one, other in pairwise(walked)
            ),
            "rows of another list": not all(filters.keep(row) for row in walked),
            "rows were skipped": bool(same & set(before) - set(walked)),
            "deleted rows were shown": bool(same & set(walked) - set(before)),
        }
        return [f"{filters}: {fault}." for fault, found in wrong.items() if found]


class Client:
    """Sends each request to one of the servers, with kept connections."""

    def __init__(self, urls: Sequence[str], number: int, ledger: Ledger, text: str = "x") -> None:
        self._dice, self._number, self._ledger = random.Random(number), number, ledger
        self._text = text
        self._clients = [
            httpx.AsyncClient(base_url=url, headers=bearer("ann"), timeout=60) for url in urls
        ]
        self.walks = 0
        self.faults: list[str] = []

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

    async def ask(self, query: str, at: int | None = None, **variables: Any) -> Any:
        """Return the data of a response. Raise AssertionError for an error."""
        client = self._dice.choice(self._clients) if at is None else self._clients[at]
        answer = await client.post("/graphql", json={"query": query, "variables": variables})
        assert answer.status_code == 200, answer.text
        assert "errors" not in answer.json(), answer.text
        return answer.json()["data"]

    async def write(self, writes: int) -> None:
        """Add, edit and delete comments, one after another."""
        own: list[Row] = []
        for count in range(writes):
            choice = self._dice.random() if len(own) > 5 else 0.0
            given: dict[str, Any] = {
                "rating": self._dice.randint(1, 5),
                "language": self._dice.choice(oracle.LANGUAGES),
                "title": f"{self._number}.{count}",
                "text": self._text,
            }
            if choice < 0.5:  # sent once, or twice concurrently, which must add one comment
                given |= {"productId": "42", "idempotencyKey": f"key {given['title']}"}
                added = [
                    self._written("AddComment", given) for _ in range(self._dice.choice((1, 2)))
                ]
                rows = await asyncio.gather(*added)
                assert len(set(rows)) == 1, rows
                own.append(rows[0])
                self._ledger.end("ADDED", rows[0])
                continue
            row = own.pop(self._dice.randrange(len(own)))
            self._ledger.begin(row.node)
            if choice < 0.8:
                own.append(await self._written("UpdateComment", {"id": row.node, **given}))
                self._ledger.end("CHANGED", own[-1])
            else:
                done = await self.ask(DELETE, i={"id": row.node})
                assert done["done"]["deletedId"] == row.node, done
                self._ledger.end("DELETED", row)

    async def _written(self, name: str, given: dict[str, Any]) -> Row:
        query = WRITE % (name, name[0].lower() + name[1:])
        payload = (await self.ask(query, i=given))["done"]
        assert not payload["userErrors"], payload
        return Row(*payload["comment"].values())

    async def walk_until(self, ended: asyncio.Event) -> None:
        """Read lists one after another, and note their faults."""
        while not ended.is_set():
            filters, since = self.filters(), len(self._ledger.writes)
            before = self._ledger.listed(filters)
            walked = await self.walk(filters)
            self.faults += self._ledger.faults(filters, since, before, walked)
            self.walks += 1

    async def walk(self, filters: Filters, at: int | None = None) -> list[Row]:
        """Return all rows of a list. Each page comes from any server, or from server ``at``."""
        asked: dict[str, Any] = {"first": self._dice.randrange(3, 40), **filters._asdict()}
        rows: list[Row] = []
        while True:
            page = (await self.ask(PAGE, at, **asked))["product"]["comments"]
            rows += [Row(*node.values()) for node in page["nodes"]]
            if not page["pageInfo"]["hasNextPage"]:
                return rows
            asked["after"] = page["pageInfo"]["endCursor"]

    def filters(self) -> Filters:
        """Return random filters."""
        ratings = self._dice.choice([None, *map(sorted, oracle.RATING_SUBSETS)])
        languages = self._dice.choice([*oracle.LANGUAGE_CHOICES, frozenset({"pt"})])
        return Filters(ratings, None if languages is None else sorted(languages))


@asynccontextmanager
async def servers(directory: Path, workers: Sequence[int]) -> AsyncIterator[list[Served]]:
    """Run servers with one table and one Redis. Verify the counters at the end.

    ``workers`` has each server's number of workers.
    """
    with dynoxide("--db-path", str(directory / "shared.db")) as endpoint, redis_server() as redis:
        options = ("--endpoint-url", endpoint, "--redis-url", redis.url, "--rate-limit", "off")
        called("table", "create", "--endpoint-url", endpoint, **AWS).check_returncode()
        async with AsyncExitStack() as stack:
            running = [
                serving(directory / str(number), "--workers", str(count), *options)
                for number, count in enumerate(workers)
            ]
            yield [await stack.enter_async_context(one) for one in running]
            verified = called("stats", "verify", "--endpoint-url", endpoint, **AWS)
            assert verified.returncode == 0, verified.stdout + verified.stderr


@asynccontextmanager
async def listening(
    listeners: Sequence[Listener], urls: Sequence[str], ledger: Ledger
) -> AsyncIterator[None]:
    """Run listeners until the block has ended and they show the state after all writes."""
    tasks = [
        asyncio.create_task(one.run(urls, ledger.acknowledged, ledger.titles)) for one in listeners
    ]
    await asyncio.gather(*(one.ready.wait() for one in listeners))
    yield
    silent, before = 0, -1
    while silent < SILENCE and any(one.shown != ledger.titles() for one in listeners):
        heard = sum(one.events for one in listeners)
        silent = silent + 1 if heard == before else 0
        before = heard
        await asyncio.sleep(1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def outdated(listeners: Sequence[Listener], ledger: Ledger) -> list[str]:
    """Return a sentence for each listener that shows an old state, or has returned to one.

    One event may stand for several changes of a comment, so events are not counted.
    """
    expected = ledger.titles().items()
    return [
        f"Listener {one.number} ({one.kind}) shows {len(one.shown.items() ^ expected)} rows "
        f"wrongly, and returned to an older state {one.returned} times."
        for one in listeners
        if one.returned or one.shown.items() != expected
    ]
