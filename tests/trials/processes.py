"""Writes to two servers of two workers over one table, and compares every list.

``python -m tests.trials.processes`` sends each request to either server: adds with keys, some of
them twice at once, edits that change rating and language, deletions. Meanwhile walkers read lists,
each page from either server, listeners listen at both, and the workers of both servers are
replaced. Then all lists, counts and events are compared with what was acknowledged.
"""

import argparse
import asyncio
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx
from rich.console import Console
from rich.table import Table

from dal.model import RATINGS
from tests import oracle
from tests.engines import dynoxide
from tests.engines.redis import redis_server
from tests.server.serving import AWS, Served, bearer, called
from tests.server.workers.processes import others, workers_of
from tests.trials.live.listeners import Listener, Told
from tests.trials.serving import serving

_NODE = "{ id commentId createdAt rating language title }"
WRITE = f"""mutation ($i: %sInput!) {{ done: %s(input: $i) {{ comment {_NODE}
  userErrors {{ code }} }} }}"""
DELETE = "mutation ($i: DeleteCommentInput!) { done: deleteComment(input: $i) { deletedId } }"
PAGE = f"""query ($rating: [Int!], $language: [String!], $first: Int, $after: String) {{
  product(productId: "42") {{ statistics {{ histogram {{ rating count }} }}
    comments(rating: $rating, language: $language, first: $first, after: $after) {{
      nodes {_NODE} pageInfo {{ hasNextPage endCursor }} }} }} }}"""

NEVER = 1 << 62


class Filters(NamedTuple):
    """The filters of a list; None is everything."""

    rating: Sequence[int] | None = None
    language: Sequence[str] | None = None


class Row(NamedTuple):
    """A comment as the API shows it."""

    node: str
    comment_id: str
    created_at: str
    rating: int
    language: str
    title: str

    @property
    def position(self) -> tuple[str, str]:
        """Its place: lists descend by it."""
        return self.created_at, self.comment_id


@dataclass
class Ledger:
    """The comments of one product as acknowledged, and when each was written."""

    rows: dict[str, Row] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    """The event of each write."""
    touched: dict[str, int] = field(default_factory=dict)
    """The number of each comment's last write; NEVER while one runs."""

    def begin(self, node: str) -> None:
        """Note that a write of a comment begins."""
        self.touched[node] = NEVER

    def end(self, kind: str, row: Row) -> None:
        """Note that a write was acknowledged, and what the comment is now."""
        self.told.append((kind, row.node, "" if kind == "DELETED" else row.title))
        self.touched[row.node] = len(self.told)
        self.rows[row.node] = row
        if kind == "DELETED":
            del self.rows[row.node]

    def listed(self, filters: Filters) -> list[Row]:
        """Return a list as it must be now."""
        kept = [row for row in self.rows.values() if _keeps(filters, row)]
        return sorted(kept, key=lambda row: row.position, reverse=True)

    def faults(
        self, filters: Filters, since: int, before: list[Row], walked: list[Row]
    ) -> list[str]:
        """Return what is wrong with a list that was walked since so many writes.

        A row of ``before`` that nobody has written since must be there once, in its order.
        """
        same = {row for row in (*before, *walked) if self.touched.get(row.node, NEVER) <= since}
        wrong = {
            "rows out of order, or twice": any(
                one.position <= other.position for one, other in pairwise(walked)
            ),
            "rows of another list": not all(_keeps(filters, row) for row in walked),
            "rows were skipped": bool(same & set(before) - set(walked)),
            "rows that were gone": bool(same & set(walked) - set(before)),
        }
        return [f"{filters}: {fault}." for fault, found in wrong.items() if found]


def _keeps(filters: Filters, row: Row) -> bool:
    rated = filters.rating is None or row.rating in filters.rating
    return rated and (filters.language is None or row.language in filters.language)


class Client:
    """Sends requests to any of the servers, by connections that it keeps."""

    def __init__(self, urls: Sequence[str], number: int, ledger: Ledger) -> None:
        self._dice, self._number, self._ledger = random.Random(number), number, ledger
        self._clients = [
            httpx.AsyncClient(base_url=url, headers=bearer("ann"), timeout=60) for url in urls
        ]
        self.walks = 0
        self.faults: list[str] = []

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()

    async def ask(self, query: str, at: int | None = None, **variables: Any) -> Any:
        """Return the data of an answer; AssertionError for any other."""
        client = self._dice.choice(self._clients) if at is None else self._clients[at]
        answer = await client.post("/graphql", json={"query": query, "variables": variables})
        assert answer.status_code == 200, answer.text
        assert "errors" not in answer.json(), answer.text
        return answer.json()["data"]

    async def write(self, writes: int) -> None:
        """Add, edit and delete comments, one write after another."""
        own: list[Row] = []
        for count in range(writes):
            choice = self._dice.random() if len(own) > 5 else 0.0
            said: dict[str, Any] = {
                "rating": self._dice.randint(1, 5),
                "language": self._dice.choice(oracle.LANGUAGES),
                "title": f"{self._number}.{count}",
            }
            if choice < 0.5:  # once, or twice at once: it is one comment
                said |= {"productId": "42", "text": "x", "idempotencyKey": f"key {said['title']}"}
                added = [
                    self._written("AddComment", said) for _ in range(self._dice.choice((1, 2)))
                ]
                rows = await asyncio.gather(*added)
                assert len(set(rows)) == 1, rows
                own.append(rows[0])
                self._ledger.end("ADDED", rows[0])
                continue
            row = own.pop(self._dice.randrange(len(own)))
            self._ledger.begin(row.node)
            if choice < 0.8:
                own.append(await self._written("UpdateComment", {"id": row.node, **said}))
                self._ledger.end("CHANGED", own[-1])
            else:
                done = await self.ask(DELETE, i={"id": row.node})
                assert done["done"]["deletedId"] == row.node, done
                self._ledger.end("DELETED", row)

    async def _written(self, name: str, said: dict[str, Any]) -> Row:
        query = WRITE % (name, name[0].lower() + name[1:])
        payload = (await self.ask(query, i=said))["done"]
        assert not payload["userErrors"], payload
        return Row(*payload["comment"].values())

    async def walk_until(self, ended: asyncio.Event) -> None:
        """Walk one list after another."""
        while not ended.is_set():
            filters, since = self.filters(), len(self._ledger.told)
            before = self._ledger.listed(filters)
            walked = await self.walk(filters)
            self.faults += self._ledger.faults(filters, since, before, walked)
            self.walks += 1

    async def walk(self, filters: Filters, at: int | None = None) -> list[Row]:
        """Return a whole list, each page from any of the servers, or from one."""
        asked: dict[str, Any] = {"first": self._dice.randrange(3, 40), **filters._asdict()}
        rows: list[Row] = []
        while True:
            page = (await self.ask(PAGE, at, **asked))["product"]["comments"]
            rows += [Row(*node.values()) for node in page["nodes"]]
            if not page["pageInfo"]["hasNextPage"]:
                return rows
            asked["after"] = page["pageInfo"]["endCursor"]

    def filters(self) -> Filters:
        """Return the filters of any list."""
        ratings = self._dice.choice([None, *map(sorted, oracle.RATING_SUBSETS)])
        languages = self._dice.choice(oracle.LANGUAGE_CHOICES)
        return Filters(ratings, None if languages is None else sorted(languages))


@asynccontextmanager
async def servers(directory: Path, workers: Sequence[int]) -> AsyncIterator[list[Served]]:
    """Serve by two servers over one table and one Redis; AssertionError for wrong counts."""
    with dynoxide("--db-path", str(directory / "shared.db")) as endpoint, redis_server() as redis:
        options = ("--endpoint-url", endpoint, "--redis-url", redis.url, "--rate-limit", "off")
        called("table", "create", "--endpoint-url", endpoint, **AWS).check_returncode()
        one, other = (("--workers", str(number), *options) for number in workers)
        async with (
            serving(directory / "one", *one) as first,
            serving(directory / "other", *other) as second,
        ):
            yield [first, second]
            verified = called("stats", "verify", "--endpoint-url", endpoint, **AWS)
            assert verified.returncode == 0, verified.stdout + verified.stderr


async def trial(
    directory: Path,
    *,
    writes: int,
    restarts: int,
    writers: int = 8,
    lists: int = 64,
    workers: Sequence[int] = (2, 2),
) -> tuple[dict[str, int], list[str]]:
    """Return what was done, and what is wrong; AssertionError for a failed request."""
    ledger = Ledger()
    async with servers(directory, workers) as served:
        urls = [server.url for server in served]
        hearing = [Listener(number, "steady") for number in range(writers)]
        tasks = [asyncio.create_task(one.run(urls, {})) for one in hearing]
        await asyncio.gather(*(one.ready.wait() for one in hearing))
        clients = [Client(urls, number, ledger) for number in range(writers + writers // 2)]
        walkers, ended = clients[writers:], asyncio.Event()
        walking = asyncio.gather(*(one.walk_until(ended) for one in walkers))
        writing = asyncio.gather(*(one.write(writes) for one in clients[:writers]))
        for server in [*served] * restarts:
            old = workers_of(server)
            server.process.send_signal(signal.SIGHUP)
            await others(server, old, len(old))
        await writing
        ended.set()
        await walking
        expected = Counter(ledger.told)
        with suppress(TimeoutError):
            async with asyncio.timeout(120):
                while any(len(one.told) < expected.total() for one in hearing):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        faults = [fault for one in walkers for fault in one.faults]
        counts = Counter(row.rating for row in ledger.rows.values())
        for number in range(2 * lists):
            filters, at = walkers[0].filters(), number % 2
            if await walkers[0].walk(filters, at) != ledger.listed(filters):
                faults.append(f"{filters}: another list at server {at + 1}, at rest.")
            shown = (await walkers[0].ask(PAGE, at, first=1))["product"]["statistics"]["histogram"]
            if {one["rating"]: one["count"] for one in shown} != {n: counts[n] for n in RATINGS}:
                faults.append(f"Server {at + 1} counts {shown}, and there are {counts}.")
        for client in clients:
            await client.close()
    for one in hearing:
        if Counter(one.told) != expected:
            missed, more = expected - Counter(one.told), Counter(one.told) - expected
            faults.append(
                f"Listener {one.number} missed {missed.total()} events and had {more.total()} more."
            )
    done = dict(Counter(kind for kind, *_ in ledger.told)) | {
        "comments left": len(ledger.rows),
        "lists walked while others wrote": sum(one.walks for one in walkers),
        "lists walked at rest": 2 * lists,
        "events heard": sum(len(one.told) for one in hearing),
        "workers' replacements": len(served) * restarts,
        "faults": len(faults),
    }
    return done, faults


def main() -> None:
    """Print the figures; end with 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=400, help="of each of eight writers")
    parser.add_argument("--restarts", type=int, default=3, help="of each server's workers")
    given = parser.parse_args()
    with TemporaryDirectory() as directory:
        done, faults = asyncio.run(
            trial(Path(directory), writes=given.writes, restarts=given.restarts)
        )
    table = Table("what", "number", title="Two servers of two workers over one table")
    for what, number in done.items():
        table.add_row(what, f"{number:,}")
    console = Console()
    console.print(table, *faults[:20], sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
