"""What is done to a table in each case, and what is counted of it.

Each case runs on a table of its own. It uses nothing that an earlier commit lacks.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

from dal.entities.leaderboard import rank_position
from dal.errors import DalError
from dal.model import Comment
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository
from dal.repositories.leaderboard import LeaderboardRepository
from dal.table.item import primary_key
from dal.table.parallel_scan import scan_all
from dal.table.retries import retry
from dal.table.streams import Streams
from stream.follower import follow
from stream.rebuild import rebuild
from tests.trials.hotspots.simulation import Shop

Figures: TypeAlias = Mapping[str, float]

SERVERS = 8
RATINGS, LANGUAGES = (5, 5, 5, 4, 5, 1, 5, 3, 5, 2), ("en", "en", "de", "fr")
_AT = datetime(2026, 1, 1, tzinfo=UTC)


def _comment(number: int, product: str, **fields: Any) -> Comment:
    row = Comment(
        comment_id=f"c{number:06}",
        product_id=product,
        username=f"user{number}",
        rating=RATINGS[number % 10],
        language=LANGUAGES[number % 4],
        title="Good",
        text="It boils fast and pours well. " * 10,
        created_at=_AT,
    )
    return row._replace(**fields)


class _Clients:
    """What clients saw who came at a steady rate."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self.failed: Counter[str] = Counter()

    async def come(self, rate: float, jobs: Sequence[Callable[[], Awaitable[Any]]]) -> "_Clients":
        """Start each job at its time, and wait for all."""
        loop, chance = asyncio.get_running_loop(), random.Random(rate)
        gaps = (chance.expovariate(rate) for _ in jobs)

        async def one(comes: float, job: Callable[[], Awaitable[Any]]) -> None:
            await asyncio.sleep(comes)
            came = loop.time()
            try:
                await job()
            except DalError as error:
                self.failed[type(error).__name__] += 1
            else:
                self.took.append(loop.time() - came)

        await asyncio.gather(*map(one, accumulate(gaps), jobs))
        return self

    def figures(self) -> Figures:
        """Return how many were served, and how long the slowest waited."""
        return {
            "comments written": len(self.took),
            "refused to their clients": self.failed.total(),
            "written within a second": sum(took <= 1 for took in self.took),
            "seconds of the slowest": round(max(self.took, default=0.0), 1),
        }


def _servers(shop: Shop) -> list[CommentRepository]:
    stores = [CommentRepository(shop.table()) for _ in range(SERVERS)]
    for store in stores:
        if hasattr(store, "boards"):  # places on boards were part of the write at first
            store.boards.start()
    return stores


async def _end(stores: Sequence[CommentRepository]) -> None:
    for store in stores:
        await store._table.drain()


async def fives(shop: Shop) -> Figures:
    """A thousand comments rated 5 a second, for three seconds, of 600 products."""
    stores, seconds, rate = _servers(shop), 3, 1_000
    rows = [
        _comment(number, f"p{number % 600:03}", rating=5, language="en")
        for number in range(seconds * rate)
    ]
    jobs = [_add(stores[number % SERVERS], row) for number, row in enumerate(rows)]
    async with shop.watched():
        clients = await _Clients().come(rate, jobs)
        asked = shop.meter.requests
        await _end(stores)
        ended = asyncio.get_running_loop().time()
    return {
        **clients.figures(),
        "requests of the writes": asked,
        "throttled at the board": shop.refused.get("board", 0),
        "most WCU a second of the board": shop.meter.most("board"),
        "seconds until all is in place": round(ended),
    }


def _add(store: CommentRepository, row: Comment) -> Callable[[], Coroutine[Any, Any, Any]]:
    return lambda: store.add(row)


async def hot_product(shop: Shop) -> Figures:
    """Sixty comments a second of one product, by eight servers, for ten seconds."""
    stores, rate = _servers(shop), 60
    rows = [_comment(number, "hot") for number in range(10 * rate)]
    jobs = [_add(stores[number % SERVERS], row) for number, row in enumerate(rows)]
    clients = await _Clients().come(rate, jobs)
    asked = shop.meter.asked["transact_write_items"]
    await _end(stores)
    return {
        **clients.figures(),
        "transactions": asked,
        "of these, refused by a conflict": shop.meter.failed["ConflictError"],
    }


async def _group(shop: Shop, bad: Comment) -> Figures:
    store = CommentRepository(shop.table())
    rows = [_comment(number, "42", language="en", rating=4) for number in range(93)]
    await store.add(rows[50])
    before = shop.meter.asked.copy()
    rows[50] = bad._replace(comment_id=rows[50].comment_id)
    written = await asyncio.gather(*(store.add(row) for row in rows), return_exceptions=True)
    asked = shop.meter.asked - before
    return {
        "comments written": sum(not isinstance(one, BaseException) for one in written),
        "transactions for 93 comments": asked["transact_write_items"],
        "WCU of the counter": shop.amazon.throttle.written[(None, "PRODUCT#42")],
    }


async def bad_write(shop: Shop) -> Figures:
    """93 comments of a product at once; the id of one is taken, which DynamoDB names."""
    return await _group(shop, _comment(50, "42", language="en", rating=4, text="other"))


async def unnamed_write(shop: Shop) -> Figures:
    """93 comments of a product at once; one is too long, and DynamoDB does not say which."""
    return await _group(shop, _comment(50, "42", language="en", rating=4, text="x" * 450_000))


async def ranks(shop: Shop) -> Figures:
    """A page of a board of 12,000 products at its 9,000th place, under 30 aliases."""
    total = 12_000
    shop.put(
        [
            primary_key(f"PRODUCT#p{n:05}", "S")
            | {"GSIPK": {"S": "LEADERS"}, "GSISK": {"S": rank_position(f"p{n:05}", n + 1)}}
            for n in range(total)
        ]
    )
    board = LeaderboardRepository(shop.table())
    place = total - 9_000
    cut = Slice(limit=20, after=rank_position(f"p{place:05}", place + 1))
    await board.page(None, cut, ranked=True)
    once = shop.meter.rcu
    clients = await _Clients().come(
        1_000, [lambda: board.page(None, cut, ranked=True) for _ in range(30)]
    )
    return {
        "RCU of one page": once,
        "most RCU of the board in a second": shop.meter.rcu - once,
        "aliases answered": len(clients.took),
    }


async def describes(shop: Shop) -> Figures:
    """A rebuild into stream mode, then ten seconds of a follower; shards close and split."""
    streams = shop.amazon.streams
    streams.shards, streams.capacity, streams.hidden, streams.enabling = 4, 30, 2, 2
    table = shop.table()
    store = CommentRepository(table)
    await store.put_many([_comment(number, f"p{number % 9}") for number in range(90)])

    async def call(operation: str, **arguments: Any) -> Any:
        return await retry(partial(shop.of_streams, operation, arguments), operation)

    async def nobody() -> None:
        return None

    followed = Streams(call)
    await rebuild(table, followed, nobody, lambda _: None)
    rows = [_comment(1_000 + number, f"p{number % 9}") for number in range(1_000)]
    following = asyncio.create_task(follow(table, followed))
    await _Clients().come(100, [_add(store, row) for row in rows])
    following.cancel()
    await asyncio.wait([following])
    return {
        "DescribeStreams": shop.meter.asked["describe_stream"],
        "most DescribeStreams in a second": shop.meter.most("describe_stream"),
        "DescribeStreams refused": streams.refused,
    }


async def scan(shop: Shop) -> Figures:
    """A scan of 24 MB, as a rebuild does it, and one with --read-units 500."""
    text = {"text": {"S": "x" * 4_000}}
    shop.put([primary_key(f"ITEM#{number}") | text for number in range(6_000)])
    table = shop.table()
    await scan_all(table, lambda _: None, lambda _: None)
    figures = {"RCU": shop.meter.rcu, "most RCU in a second": shop.meter.most("rcu")}
    if hasattr(table, "read_pace"):
        shop.meter.forget("rcu")
        table.read_pace = type(table.read_pace)(500, reads=True)
        await scan_all(table, lambda _: None, lambda _: None)
        figures["most RCU in a second, paced"] = shop.meter.most("rcu")
    return figures


CASES = (fives, hot_product, bad_write, unnamed_write, ranks, describes, scan)
