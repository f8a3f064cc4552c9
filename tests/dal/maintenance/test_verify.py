"""Verification reports every wrong number, and no correct number."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable

import pytest

from dal.counts.boards import BoardCorrection
from dal.counts.counter_items import encode, item_key
from dal.counts.counts import RatingCounts, StatisticsKey
from dal.dynamodb.scan import scan_pages
from dal.dynamodb.table import Table
from dal.entities.comment import comment_key
from dal.maintenance.verify import Difference
from dal.stores import Stores
from dal.table.items import Item
from tests import oracle
from tests.putting import put_comments
from tests.verifying import verify
from tests.writers import ignore

ROWS = oracle.make_comments("42", 90, seed=1) + oracle.make_comments("4/2", 40, seed=2)
GERMAN = StatisticsKey("42", "de")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dal.maintenance.verify.PAUSE_SECONDS", 0)


async def wrong(table: Table) -> list[tuple[StatisticsKey, str, int, int]]:
    found = await verify(table, ignore)
    return [(one.key, one.what, one.stored, one.expected) for one in found]


async def test_counted_comments_show_no_difference(each_table: Table) -> None:
    store = Stores(each_table)
    await put_comments(store.comments, ROWS)
    for row in ROWS[::7]:
        await store.comments.delete(row.comment_id, lambda _: None)
    seen: list[int] = []
    assert await verify(each_table, seen.append) == []
    assert seen == sorted(seen)
    assert seen[-1] > len(ROWS) * 6 // 7


async def test_an_empty_table_has_no_difference(table: Table) -> None:
    assert await verify(table, ignore) == []


def with_numbers(**numbers: int) -> Callable[[Item], Item]:
    return lambda item: item | {name: {"N": str(value)} for name, value in numbers.items()}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (with_numbers(count_3=99), {"rating 3", "total"}),
        (with_numbers(count_total=1), {"total"}),
        (with_numbers(v3=99), {"rating 3 with verified"}),
        (with_numbers(vp1=99), {"rating 1 with hasPhotos and verified"}),
        (with_numbers(a_fit_n=99), {"ratings of fit"}),
        (with_numbers(a_gone_s=99), {"sum of gone"}),
    ],
    ids=["count", "total", "flag", "two flags", "aspect", "aspect without ratings"],
)
async def test_every_wrong_number_is_reported(
    table: Table, change: Callable[[Item], Item], told: set[str]
) -> None:
    await put_comments(Stores(table).comments, ROWS)
    item = await table.get(item_key(GERMAN)) or {}
    await table.put_many([change(item)])
    assert {(key, what) for key, what, *_ in await wrong(table)} == {
        (GERMAN, what) for what in told
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda item: item | {"GSISK": {"S": "000000000001#42"}},
        lambda item: {name: item[name] for name in item if not name.startswith("GSI")},
        lambda item: item | {"GSIPK": {"S": "LEADERS#xx"}},
    ],
    ids=["place", "off the board", "other board"],
)
@pytest.mark.parametrize("key", [GERMAN, StatisticsKey("42")], ids=["language", "all"])
async def test_a_wrong_rank_on_a_leaderboard_is_corrected_and_counted(
    table: Table, key: StatisticsKey, change: Callable[[Item], Item]
) -> None:
    store = Stores(table)
    await put_comments(store.comments, ROWS)
    await store.boards.finish()
    item = await table.get(item_key(key)) or {}
    await table.put_many([change(item)])
    correction = BoardCorrection(table)
    assert await verify(table, ignore, correction) == []
    assert correction.boards.moved == 1
    assert await table.get(item_key(key)) == item


async def test_missing_and_stale_items_are_reported(each_table: Table) -> None:
    await put_comments(Stores(each_table).comments, ROWS[:1])
    gone, first = (StatisticsKey(one, ROWS[0].language) for one in ("gone", "42"))
    await each_table.put_many([encode(gone, RatingCounts((0, 2, 0, 0, 0)))])
    await each_table.write([{"Delete": {"Key": item_key(first)}}])
    assert await wrong(each_table) == [
        (first, f"rating {ROWS[0].rating}", 0, 1),
        (gone, "rating 2", 2, 0),
    ]


async def test_uncounted_adds_and_deletions_are_reported(table: Table) -> None:
    await put_comments(Stores(table).comments, ROWS)
    await table.write([{"Delete": {"Key": comment_key(ROWS[0].comment_id)}}])
    key = StatisticsKey("42", ROWS[0].language)
    right = sum(
        (row.rating, row.language, row.product_id) == (ROWS[0].rating, ROWS[0].language, "42")
        for row in ROWS
    )
    assert await verify(table, ignore) == [
        Difference(key, f"rating {ROWS[0].rating}", right, right - 1)
    ]


async def test_concurrent_writes_are_not_reported(
    each_table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One counter is wrong while other counters change continuously.

    Only the wrong one is reported.
    """
    store = Stores(each_table)
    await put_comments(store.comments, ROWS)
    item = await each_table.get(item_key(GERMAN)) or {}
    await each_table.put_many([item | {"count_total": {"N": "700"}}])
    stop = asyncio.Event()

    async def slow_pages(table: Table, segment: int) -> AsyncIterator[object]:
        async for page in scan_pages(table, segment):
            yield page
            await asyncio.sleep(0.04 * segment)

    async def write(seed: int) -> None:
        chance = random.Random(seed)
        while not stop.is_set():
            row = chance.choice(ROWS)._replace(rating=chance.randint(1, 5))
            await put_comments(
                store.comments, [row._replace(comment_id=f"{seed}-{chance.randrange(30)}")]
            )

    monkeypatch.setattr("dal.dynamodb.scan.scan_pages", slow_pages)
    writing = [asyncio.create_task(write(seed)) for seed in range(2)]
    found = await verify(each_table, ignore)
    stop.set()
    await asyncio.gather(*writing)
    assert {(one.key, one.what) for one in found} == {(GERMAN, "total")}
