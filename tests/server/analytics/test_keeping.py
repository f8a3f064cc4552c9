"""The store is filled by an export and kept up by the follower: on a real table and its stream."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import stream.comment_log
from analytics.change_log import new_run
from analytics.errors import AnalyticsUnavailableError
from analytics.periods import Interval, Span
from analytics.questions import Trend, TrendQuestion
from dal.model import Comment
from dal.statistics.maintenance_mode import MaintenanceMode, MaintenanceStore
from dal.stores import Stores
from dal.table.client import Table, TableAddress, connect_streams
from dal.table.streams import Streams
from server.analytics.asking import analytics_of, open_analytics
from server.analytics.keeping import CommentLogs, refresh
from server.engine.storage import Store
from server.settings import Settings
from stream.follower import open_follower
from tests.analytics import oracle
from tests.stream.histories import PRODUCTS, Step, begin_counting, history, write_raw


@pytest.fixture(autouse=True)
def no_late_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.comment_log, "MARGIN", timedelta(0))


@pytest.fixture
def settings(table: Table, tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, table=table.name)


@pytest.fixture
async def streams(table: Table) -> AsyncIterator[Streams]:
    async with connect_streams(address_of(table)) as opened:
        yield opened


def address_of(table: Table) -> TableAddress:
    return TableAddress(table.name, table._client.endpoint_url, embedded=True)


async def refreshed(settings: Settings, table: Table) -> datetime:
    store = Store(table, address_of(table), "a test", asyncio.get_running_loop().create_future())
    return (await refresh(settings, store, lambda _: None)).began


async def caught_up(settings: Settings, table: Table, streams: Streams) -> None:
    """Follow until nothing is left; the engine's records never come late."""
    logs = CommentLogs(settings, table)
    # The engine tells the time to the second, and all happens within one here.
    clock = partial(datetime.now, UTC)
    follower = await open_follower(table, streams, clock=clock, beside=await logs.open())
    while await follower.round():
        pass
    await logs.close()


async def trends(settings: Settings) -> dict[str, Trend]:
    analytics = analytics_of(settings)
    try:
        return {
            product: await analytics.trend(TrendQuestion(product, Span(Interval.DAY)))
            for product in PRODUCTS
        }
    finally:
        await analytics.close()


def assert_of(found: dict[str, Trend], steps: list[Step]) -> None:
    living: dict[str, Comment] = {}
    for step in steps:
        if step.old is not None:
            del living[step.old.comment_id]
        if step.new is not None:
            living[step.new.comment_id] = step.new
    for product, trend in found.items():
        points = [(point.start, point.counts) for point in trend.points]
        assert points == oracle.trend(living.values(), product, Interval.DAY)


async def test_freshness_is_told_truly_while_the_follower_runs_and_when_it_stopped(
    table: Table, streams: Streams, settings: Settings
) -> None:
    maintenance = MaintenanceStore(table)
    await maintenance.announce(await maintenance.read(), mode=MaintenanceMode.STREAM)
    await begin_counting(table, streams)
    steps = list(history(5, 150))
    await write_raw(table, steps[:60])
    began = await refreshed(settings, table)
    found = await trends(settings)
    assert {trend.as_of for trend in found.values()} == {began}
    assert_of(found, steps[:60])

    await write_raw(table, steps[60:100])
    await caught_up(settings, table, streams)
    reached = (found := await trends(settings))["41"].as_of
    assert reached > began
    assert_of(found, steps[:100])

    # Nobody follows: what is told stands still, and so does the instant.
    await write_raw(table, steps[100:])
    found = await trends(settings)
    assert {trend.as_of for trend in found.values()} == {reached}
    assert_of(found, steps[:100])

    # An export has all at once, and the run goes on over it without the changes that it has.
    changes = settings.data_dir / "analytics" / table.name / "changes"
    assert [*changes.glob("*/*")]
    again = await refreshed(settings, table)
    assert not [*changes.glob("*/*")]
    assert_of(await trends(settings), steps)
    await caught_up(settings, table, streams)
    found = await trends(settings)
    assert found["41"].as_of > max(again, reached)
    assert_of(found, steps)


async def test_a_follower_begins_no_log_that_lacks_changes(
    table: Table, streams: Streams, settings: Settings
) -> None:
    await write_raw(table, history(6, 10))
    logs = CommentLogs(settings, table)
    assert await logs.open() is None
    began = await refreshed(settings, table)  # the counters are not kept from a stream yet
    maintenance = MaintenanceStore(table)
    await maintenance.announce(await maintenance.read(), mode=MaintenanceMode.STREAM)
    await begin_counting(table, streams)
    with pytest.raises(AnalyticsUnavailableError, match="run `marginalia analytics refresh`"):
        await logs.open()
    assert (await trends(settings))["41"].as_of == began
    await refreshed(settings, table)
    assert await logs.open() is not None
    await logs.close()


async def test_a_log_of_a_run_that_was_replaced_is_no_longer_kept(
    table: Table, streams: Streams, settings: Settings
) -> None:
    maintenance = MaintenanceStore(table)
    await maintenance.announce(await maintenance.read(), mode=MaintenanceMode.STREAM)
    await begin_counting(table, streams)
    await refreshed(settings, table)
    logs = CommentLogs(settings, table)
    before = await logs.open()
    store = await open_analytics(settings)
    held = (await store.state()).following
    assert before is not None
    assert held is not None
    later = new_run(held.stream, {}, held.caught_up)
    await store.follow(later)
    with pytest.raises(AnalyticsUnavailableError, match="another run"):
        await before.raise_watermark(held.caught_up + timedelta(minutes=1))
    assert (await store.state()).following == later
    await store.close()
    await logs.close()


async def test_while_writes_count_themselves_the_data_is_as_of_the_last_refresh(
    stores: Stores, table: Table, settings: Settings
) -> None:
    await stores.comments.put_many(
        [step.new for step in history(7, 9) if step.new and not step.old]
    )
    began = await refreshed(settings, table)
    assert (await trends(settings))["41"].as_of == began
    assert not [one.name for one in settings.data_dir.iterdir() if one.name != "analytics"]
