"""Writers during a rebuild, wrong counters to start from, and ways to kill the rebuild.

``Writers.settle`` replaces the wait of production: it ends when all earlier writes have ended, and
makes every writer read the mode again.
"""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import Any, Self

from dal.composition import KINDS
from dal.counts.counter_items import encode, item_key
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.dynamodb.errors import AlreadyExistsError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.errors import AlreadyCommentedError, IdempotencyKeyReusedError, NotFoundError
from dal.model import RATINGS, Comment
from dal.model.loaded import CommentState, LoadedComment
from dal.model.reports import ReportReason
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.writes.comments import version
from features.privacy.erasure import Choices, CommentFate, Erasure
from tests import oracle
from tests.fakes import FaultyClient
from tests.moderating import edit_for, held_for

PRODUCTS = ("41", "42", "4/3")
LANGUAGES = ("en", "de", "pt-BR")
ROWS = [
    row._replace(product_id=PRODUCTS[n % 3], language=LANGUAGES[n % 2])
    for n, row in enumerate(oracle.make_comments("r", 150, seed=3))
]
STALE = StatisticsKey("gone", "en")


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


WRITES = (
    *("add", "update", "text", "delete", "put_many"),
    *("hold", "review", "decide", "report", "reply", "load", "vote"),
)
AUTHORS = sorted({row.username for row in ROWS})
PEOPLE = [f"person{number}" for number in range(9)]
MODERATOR = "mo"


class Writers:
    """Two processes that continuously execute all mutations and loads.

    ``kills`` is the share of writes whose process is killed in the middle, ``erases`` the share of
    erasures of an author, a reader or the moderator.
    """

    def __init__(self, table: Table, seed: int, *, kills: float = 0.0, erases: float = 0.0) -> None:
        self.stores = [Stores(table) for _ in range(2)]
        self.kinds: Counter[str] = Counter()
        self._table, self._kills, self._erases = table, kills, erases
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

    async def _send(self, stores: Stores) -> None:  # noqa: C901, PLR0912 - a case each
        chance, store, standings = self._chance, stores.comments, stores.standings
        row = self._changed(chance.choice(ROWS))
        kind = "erase" if chance.random() < self._erases else chance.choice(WRITES)
        self.kinds[kind] += 1
        with suppress(*_EXPECTED):
            match kind:
                case "add":
                    new = row._replace(comment_id=f"new-{chance.randrange(60)}")
                    key = chance.choice([None, new.comment_id])
                    blocked = (await standings.permission(new.username)).blocked
                    cause = ReviewCause.BLOCKED if blocked else None
                    await store.add(new, key, hold=held_for(cause))
                    await store.add(new, key or "once", hold=held_for(cause))
                case "update":
                    changes = {"rating": row.rating, "language": row.language}
                    await store.update(row.comment_id, changes, lambda _: None)
                case "text":
                    await store.update(row.comment_id, {"text": row.text}, lambda _: None)
                case "delete":
                    await store.delete(row.comment_id, lambda _: None)
                case "hold":
                    new = row._replace(comment_id=f"new-{chance.randrange(60)}")
                    await store.add(new, hold=held_for(ReviewCause.SETTING))
                case "review":
                    review = chance.choice([ReviewCause.WORDS, None])
                    await store.update(
                        chance.choice([row.comment_id, f"new-{chance.randrange(60)}"]),
                        {"text": row.text, "rating": row.rating},
                        lambda _: None,
                        edit_for(review),
                    )
                case "decide":
                    await self._decide(
                        stores, chance.choice([row.comment_id, f"new-{chance.randrange(60)}"])
                    )
                case "report":
                    await self._report(stores, row)
                case "reply":
                    await store.reply(row.comment_id, chance.choice(["Thanks.", "Sorry.", None]))
                case "vote":
                    comment_id, voter = chance.choice(ROWS[:9]).comment_id, chance.choice(PEOPLE)
                    await stores.votes.mark(comment_id, voter, helpful=chance.random() < 0.5)
                case "erase":
                    await erase(stores.comments._table, chance.choice(ERASED))
                case "load":
                    loaded = [self._with_state(one) for one in chance.sample(ROWS, 5)]
                    await store.put_many(loaded)
                case _:
                    rows = [self._changed(one) for one in chance.sample(ROWS, 5)]
                    await store.put_many([*rows, *chance.sample(ROWS, 3)])

    async def _decide(self, stores: Stores, comment_id: str) -> None:
        """Approve or reject a comment."""
        moderation = stores.moderation
        there = await stores.comments.get(comment_id)
        held = await moderation.get(comment_id)
        if held is not None and self._chance.random() < 0.7:
            await moderation.approve(comment_id, version(held), MODERATOR)
        elif (one := held or there) is not None:
            await moderation.reject(comment_id, version(one), MODERATOR, "no")

    async def _report(self, stores: Stores, row: Comment) -> None:
        """Report a comment, or block or unblock its author."""
        comment_id = self._chance.choice(["new-1", "new-2", ROWS[0].comment_id, row.comment_id])
        person = self._chance.choice(PEOPLE)
        reports, standings = stores.reports, stores.standings
        if self._chance.random() < 0.2:
            await standings.block(row.username, f"why {self._chance.random()}", MODERATOR)
        elif self._chance.random() < 0.2:
            await standings.unblock(row.username)
        await reports.report(comment_id, person, ReportReason.SPAM, "", review_at=4)

    def _with_state(self, row: Comment) -> LoadedComment:
        state = self._chance.choice([*CommentState, None])
        return LoadedComment(self._changed(row), {} if state is None else {"state": state})

    def _changed(self, row: Comment) -> Comment:
        chance = self._chance
        return row._replace(
            product_id=chance.choice(PRODUCTS),
            rating=chance.choice(RATINGS),
            language=chance.choice(LANGUAGES),
            text=f"text {chance.random()}",
        )


ERASED = [*AUTHORS, *PEOPLE, MODERATOR]


async def erase(table: Table, name: str) -> None:
    """Erase a user. Delete the comments of every second author, and rename those of others."""
    fate: CommentFate = "delete" if ERASED.index(name) % 2 else "anonymize"
    await Erasure(table, name, Choices(fate), KINDS).run(at_once, ignore, ignore)


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
                    counts = RatingCounts(tuple(chance.randrange(9) for _ in RATINGS))
                    await table.put_many([encode(key, counts)])
    await table.put_many([encode(STALE, RatingCounts((1, 2, 3, 4, 5)))])
