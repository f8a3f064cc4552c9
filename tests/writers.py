"""Writers during a rebuild, wrong counters to start from, and ways to kill the rebuild.

``Writers.settle`` replaces the wait of production: it ends when all earlier writes have ended, and
makes every writer read the mode again.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol, Self

from dal.counts.counter_items import encode, item_key
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.dynamodb.errors import AlreadyExistsError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.errors import AlreadyCommentedError, IdempotencyKeyReusedError, NotFoundError
from dal.model import RATINGS, Comment
from dal.stores import Stores
from tests import oracle
from tests.fakes import FaultyClient, anybody
from tests.putting import put_comments

PRODUCTS = ("41", "42", "4/3")
LANGUAGES = ("en", "de", "pt-BR")
ROWS = [
    row._replace(product_id=PRODUCTS[n % 3], language=LANGUAGES[n % 2])
    for n, row in enumerate(oracle.flagged(oracle.make_comments("r", 150, seed=3)))
]
PEOPLE = [f"person{number}" for number in range(9)]
"""The names of readers."""
STALE = StatisticsKey("gone", "en")
GONE = (("a_fit_n", 2), ("a_fit_s", 3), ("a_gone_n", 1), ("a_gone_s", 5))
"""Wrong counts of aspects. No comment has ratings of the second."""


def ignore(_: int) -> None:
    """Ignore the progress."""


class Killed(BaseException):
    """Ends a rebuild in the middle of a request."""


class Engine(FaultyClient):
    """A client that scans in small pages, and that can be killed at one request."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.left: int | None = None
        self.done_before_death = False

    async def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation == "scan":
            arguments = {**arguments, "Limit": 20}
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                if self.done_before_death:
                    await super().call(operation, arguments)
                raise Killed
        return await super().call(operation, arguments)


_EXPECTED = (
    NotFoundError,
    AlreadyCommentedError,
    AlreadyExistsError,
    IdempotencyKeyReusedError,
    ConflictError,
)
"""The expected errors of writes."""


class Write(Protocol):
    """A kind of write."""

    async def __call__(self, stores: Stores, chance: random.Random) -> None:
        """Write something random. Each error in ``_EXPECTED`` may be raised."""


async def _add(stores: Stores, chance: random.Random) -> None:
    new, key = new_row(chance), chance.choice([None, "own"])
    await stores.comments.add(new, key and new.comment_id)
    await stores.comments.add(new, new.comment_id if key else "once")


async def _update(stores: Stores, chance: random.Random) -> None:
    row = changed_row(chance)
    changes = {"rating": row.rating, "language": row.language, "photos": row.photos}
    await stores.comments.update(row.comment_id, changes, anybody)


async def _text(stores: Stores, chance: random.Random) -> None:
    row = changed_row(chance)
    await stores.comments.update(row.comment_id, {"text": row.text}, anybody)


async def _delete(stores: Stores, chance: random.Random) -> None:
    await stores.comments.delete(chance.choice(ROWS).comment_id, anybody)


async def _reply(stores: Stores, chance: random.Random) -> None:
    text = chance.choice(["Thanks.", "Sorry.", None])
    await stores.comments.reply(chance.choice(ROWS).comment_id, text)


async def _put_many(stores: Stores, chance: random.Random) -> None:
    rows = [changed_row(chance, one) for one in chance.sample(ROWS, 5)]
    await put_comments(stores.comments, [*rows, *chance.sample(ROWS, 3)])


WRITES: Mapping[str, Write] = {
    "add": _add,
    "update": _update,
    "text": _text,
    "delete": _delete,
    "reply": _reply,
    "put_many": _put_many,
}
"""The writes of the core. Tests of features add the writes of features."""


class Writers:
    """Two processes that continuously execute mutations and loads.

    ``kills`` is the share of writes whose process is killed in the middle.
    """

    def __init__(
        self,
        table: Table,
        seed: int,
        *,
        kills: float = 0.0,
        writes: Mapping[str, Write] = WRITES,
    ) -> None:
        self.stores = [Stores(table) for _ in range(2)]
        self.kinds: Counter[str] = Counter()
        self._table, self._kills, self._kinds = table, kills, writes
        self._chance = random.Random(seed)
        self._running: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._moved = asyncio.Condition()
        self.writes = 0

    async def __aenter__(self) -> Self:
        self._loops = [asyncio.create_task(self._loop(number)) for number in range(4)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self._loops:
            one.cancel()
        ends = await asyncio.gather(*self._loops, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends), ends
        await asyncio.gather(*self._running)

    async def until(self, writes: int) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self.writes >= writes)

    async def settle(self) -> None:
        for store in self.stores:
            store.maintenance.forget()
        await asyncio.gather(*self._running)

    async def _loop(self, number: int) -> None:
        while True:
            task = asyncio.create_task(self._write(number))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            await asyncio.shield(task)
            async with self._moved:
                self.writes += 1
                self._moved.notify_all()
            await asyncio.sleep(0.005)

    async def _write(self, number: int) -> None:
        if self._chance.random() >= self._kills:
            await self._send(self.stores[number % 2])
            return
        engine = Engine(self._table.service)
        engine.left = self._chance.randrange(1, 7)
        engine.done_before_death = self._chance.random() < 0.5
        killed = Table(engine, self._table.name)
        try:
            await self._send(Stores(killed))
        except* Killed:
            self.kinds["killed"] += 1
        with suppress(BaseException):  # the requests of the killed process end too
            await killed.drain()

    async def _send(self, stores: Stores) -> None:
        kind = self._chance.choice(list(self._kinds))
        self.kinds[kind] += 1
        with suppress(*_EXPECTED):
            await self._kinds[kind](stores, self._chance)


def changed_row(chance: random.Random, row: Comment | None = None) -> Comment:
    """Return a row, by default a random one, with other values in all fields that are counted."""
    return (row or chance.choice(ROWS))._replace(
        product_id=chance.choice(PRODUCTS),
        rating=chance.choice(RATINGS),
        language=chance.choice(LANGUAGES),
        text=f"text {chance.random()}",
        verified_purchase=chance.random() < 0.5,
        photos=chance.choice(((), oracle.PHOTOS)),
        aspects=chance.choice(oracle.RATED_ASPECTS),
    )


def new_row(chance: random.Random) -> Comment:
    """Return a row that may be new."""
    return changed_row(chance)._replace(comment_id=f"new-{chance.randrange(60)}")


async def at_once() -> None:
    """Return at once, because there are no writers."""


async def spoil(table: Table, seed: int) -> None:
    """Make counters too high, too low, missing or outdated, and leave some comments uncounted."""
    chance = random.Random(seed)
    await table.put_many([COMMENT.encode(row) for row in ROWS[::9]])
    for product in PRODUCTS:
        for language in (None, *LANGUAGES):
            key = StatisticsKey(
                product, language
            )  # the item for all languages: its leaderboard keys
            match chance.choice(["missing", "wrong", "kept"]):
                case "missing":
                    await table.write([{"Delete": {"Key": item_key(key)}}])
                case "wrong":
                    numbers = [chance.randrange(9) for _ in range(20)]
                    counts = RatingCounts(tuple(numbers[:5]), tuple(numbers[5:]), GONE)
                    await table.put_many([encode(key, counts)])
    stale = RatingCounts((1, 2, 3, 4, 5), tuple(range(15)), GONE)
    await table.put_many([encode(STALE, stale)])
