"""An export of a real table fills the analytics store."""

import asyncio
from pathlib import Path

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table, TableAddress
from dal.model import Comment
from dal.stores import Stores
from features.analytics.exporting import analytics_of, refresh
from features.analytics.questions import Interval, Span, Trend, TrendQuestion
from server.local_engine.storage import Store
from server.settings import Settings
from tests.features.analytics import oracle
from tests.histories import PRODUCTS, history
from tests.putting import put_comments


@pytest.fixture
def settings(table: Table, tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, table=table.name)


async def trends(settings: Settings) -> dict[str, Trend]:
    analytics = analytics_of(settings)
    try:
        return {
            product: await analytics.trend(TrendQuestion(product, Span(Interval.DAY)))
            for product in PRODUCTS
        }
    finally:
        await analytics.aclose()


async def test_answers_are_from_the_last_refresh_and_have_its_time(
    stores: Stores, table: Table, settings: Settings
) -> None:
    address = TableAddress(table.name, table.service.endpoint_url, embedded=True)
    store = Store(table, address, "a test", asyncio.get_running_loop().create_future())
    made = [step.new for step in history(7, 40) if step.new and not step.old]
    comments: list[Comment] = []
    for some in (made[:10], made[10:]):
        await put_comments(stores.comments, some)
        comments += some
        export = await refresh(settings, store, lambda _: None, KINDS)
        found = await trends(settings)
        assert {trend.as_of for trend in found.values()} == {export.began}
        for product, trend in found.items():
            points = [(point.start, point.counts) for point in trend.points]
            assert points == oracle.trend(comments, product, Interval.DAY)
    await stores.comments.delete(made[0].comment_id, lambda _: None)
    assert await trends(settings) == found, "later changes wait for the next refresh"
    assert not [one.name for one in settings.data_dir.iterdir() if one.name != "analytics"]
