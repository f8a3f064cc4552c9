"""One reading for counters and a log: each gets all records, whichever is behind or fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from dal.entities.comment import COMMENT
from dal.errors import DalError
from dal.statistics.maintenance_mode import MaintenanceStore
from dal.table.client import Table
from stream import fan_out
from stream.applier import Applier
from stream.checkpoints import Checkpoints
from stream.comment_log import MARGIN, CommentLog, RecordedChange
from stream.fan_out import FanOut
from stream.follower import Follower, follow
from stream.records import Record
from tests import recount
from tests.stream.fakes import START, FakeStreams, shard_of
from tests.stream.histories import made

PRODUCT = "p"


@dataclass
class ListLog:
    """A log in memory; ``broken`` refuses to keep, and one that does not answer hangs."""

    shards: dict[str, tuple[str | None, bool]] = field(default_factory=dict)
    reached: datetime = START
    kept: list[RecordedChange] = field(default_factory=list)
    broken: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.answers.set()

    def positions(self) -> Mapping[str, tuple[str | None, bool]]:
        return self.shards

    def caught_up(self) -> datetime:
        return self.reached

    async def keep(
        self, shard: str, sequence: str | None, changes: Sequence[RecordedChange], *, done: bool
    ) -> None:
        if self.broken:
            raise DalError("No room.")
        await self.answers.wait()
        self.kept += changes
        self.shards[shard] = sequence, done

    async def catch_up(self, instant: datetime) -> None:
        self.reached = instant

    @property
    def sequences(self) -> list[int]:
        return [int(sequence) for _, sequence, _ in self.kept]


def opened(table: Table, streams: FakeStreams, log: ListLog) -> tuple[Follower, FanOut]:
    applier = Applier(table, Checkpoints(table, "s"), MaintenanceStore(table))
    both = FanOut(applier, CommentLog(log))
    return Follower(streams.client(), "s", both, lambda: START + timedelta(minutes=1)), both


async def to_the_end(follower: Follower) -> None:
    while await follower.round():
        pass


async def counted(table: Table) -> int:
    stored = await recount.stored(table, PRODUCT)
    return int(stored["S#en"]["count_total"]) if "S#en" in stored else 0


def records(first: int, last: int) -> list[Record]:
    return [made(number, PRODUCT) for number in range(first, last + 1)]


@pytest.fixture
def streams() -> FakeStreams:
    """A shard that was closed, and its child."""
    return FakeStreams(
        {
            "parent": shard_of(records(8, 11), closed=True),
            "child": shard_of(records(12, 14), parent="parent"),
        }
    )


async def test_both_get_each_record_once(begun: Table, streams: FakeStreams) -> None:
    log = ListLog()
    follower, _ = opened(begun, streams, log)
    await to_the_end(follower)
    assert log.sequences == [*range(8, 15)]
    assert log.shards == {"parent": ("11", True), "child": ("14", False)}
    assert log.reached == START + timedelta(minutes=1) - MARGIN
    assert await counted(begun) == 7


async def test_a_deletion_and_an_edit_of_the_text_are_handed_on(begun: Table) -> None:
    gone, edited = made(2, PRODUCT), made(3, PRODUCT)
    gone["dynamodb"]["OldImage"] = gone["dynamodb"].pop("NewImage")
    edited["dynamodb"]["OldImage"] = edited["dynamodb"]["NewImage"]
    log = ListLog()
    follower, _ = opened(begun, FakeStreams({"s": shard_of([gone, edited])}), log)
    await to_the_end(follower)
    assert log.kept == [
        ("p-2", "2".rjust(40, "0"), None),
        ("p-3", "3".rjust(40, "0"), COMMENT.decode(edited["dynamodb"]["NewImage"])),
    ]


async def test_the_one_that_is_behind_gets_what_it_lacks(
    begun: Table, streams: FakeStreams
) -> None:
    follower, _ = opened(begun, streams, ahead := ListLog())
    await to_the_end(follower)
    behind = ListLog(shards={"parent": ("9", False)})
    streams.shards["child"].records += records(15, 15)
    follower, _ = opened(begun, streams, behind)
    await to_the_end(follower)
    assert behind.sequences == [10, 11, 12, 13, 14, 15]
    assert ahead.sequences == [*range(8, 15)]
    half = ListLog(shards={"parent": ("11", True), "child": ("12", False)})
    follower, _ = opened(begun, streams, half)
    await to_the_end(follower)
    assert half.sequences == [13, 14, 15]
    assert await counted(begun) == 8


async def test_what_a_log_has_is_not_handed_to_it_again_for_counters_that_are_behind(
    begun: Table, streams: FakeStreams
) -> None:
    log = ListLog(shards={"parent": ("11", True), "child": ("13", False)})
    follower, _ = opened(begun, streams, log)
    await to_the_end(follower)
    assert log.sequences == [14]
    assert await counted(begun) == 7


async def test_counting_goes_on_without_a_log_that_fails_which_then_gets_all(
    begun: Table,
    streams: FakeStreams,
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = ListLog()
    follower, both = opened(begun, streams, log)
    await follower.round()
    log.broken = True
    await to_the_end(follower)
    assert await counted(begun) == 7
    assert len(log.kept) < 7
    assert log.reached == START
    assert [line for line in caplog.messages if "No room" in line] == [
        "Changes are counted, but not kept for analytics: No room."
    ]
    assert follower.log_failed
    assert await both.watermark() == START + timedelta(minutes=1)  # without the log's
    log.broken = False
    follower, _ = opened(begun, streams, log)
    await to_the_end(follower)
    assert log.sequences == [*range(8, 15)]
    assert await counted(begun) == 7


@pytest.fixture
async def impatient(begun: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Following of the fake stream from now on, which opens a log anew at once."""

    async def arn(_: Table) -> str:
        return "s"

    await Checkpoints(begun, "s").raise_watermark(datetime.now(UTC))
    monkeypatch.setattr("dal.table.admin.stream", arn)
    monkeypatch.setattr("stream.follower.TRIED_AGAIN", 0.01)
    monkeypatch.setattr(fan_out, "PATIENCE", 0.1)


@asynccontextmanager
async def followed(
    table: Table, streams: FakeStreams, open_log: Callable[[], Awaitable[CommentLog | None]]
) -> AsyncIterator[None]:
    following = asyncio.create_task(follow(table, streams.client(), open_log))
    yield
    assert not following.done()
    following.cancel()
    await asyncio.wait([following])


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110 - what is stored
            await asyncio.sleep(0.02)


@pytest.mark.usefixtures("impatient")
async def test_a_log_that_is_not_there_yet_or_hangs_is_waited_for_by_nobody(
    begun: Table, streams: FakeStreams, caplog: pytest.LogCaptureFixture
) -> None:
    log, attempts = ListLog(reached=datetime.now(UTC)), 0

    async def open_log() -> CommentLog | None:
        nonlocal attempts
        attempts += 1
        if attempts < 4:
            raise DalError("Away.")
        return CommentLog(log) if attempts > 6 else None

    async def all_counted(number: int) -> bool:
        return await counted(begun) == number

    async def all_kept(last: int) -> bool:
        return {*log.sequences} == {*range(8, last + 1)}

    async with followed(begun, streams, open_log):
        await until(lambda: all_counted(7))
        await until(lambda: all_kept(14))
        assert caplog.text.count("Away.") == 1
        log.answers.clear()
        streams.shards["child"].records += records(15, 16)
        await until(lambda: all_counted(9))
        log.answers.set()
        await until(lambda: all_kept(16))


@pytest.mark.usefixtures("impatient")
async def test_a_log_that_has_lost_its_place_costs_the_counters_nothing(
    begun: Table, streams: FakeStreams, caplog: pytest.LogCaptureFixture
) -> None:
    follower, _ = opened(begun, streams, ListLog())
    await to_the_end(follower)
    behind = ListLog(shards={"parent": ("8", False)}, reached=datetime.now(UTC))
    streams.shards["parent"].trimmed = 3
    streams.shards["child"].records += records(15, 15)
    streams.read.clear()

    async def open_log() -> CommentLog:
        return CommentLog(behind)

    async def told() -> bool:
        return await counted(begun) == 8 and "`marginalia analytics refresh`" in caplog.text

    async with followed(begun, streams, open_log):
        await until(told)
        await asyncio.sleep(0.2)
    assert {shard for shard, _ in streams.read} == {"child"}
    assert len(caplog.messages) == 1
    assert behind.kept == []
