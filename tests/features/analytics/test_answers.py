"""On both stores, trends and movers equal the oracle's."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dal.model import Comment
from features.analytics.questions import Interval, MovedBy, MoversQuestion, Span, TrendQuestion
from features.analytics.service import Analytics
from features.analytics.store import AnalyticsStore
from tests.features.analytics import oracle
from tests.histories import PRODUCTS, Step, history
from tests.oracle import START

EXPORTED = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = dict(zip(PRODUCTS, ("it's \\ 41", "42/en", 'a "ß" 😀'), strict=True))
LANGUAGES = (
    None,
    frozenset({"en"}),
    frozenset({"pt"}),
    frozenset({"de", "pt-BR"}),
    frozenset[str](),
)


def asked_of(store: AnalyticsStore) -> Analytics:
    async def open_store() -> AnalyticsStore:
        return store

    return Analytics(open_store)


def spread(comment: Comment | None) -> Comment | None:
    """Return a comment with its time spread over a year, and with an unusual product id."""
    if comment is None:
        return None
    apart = (comment.created_at - START) * 37 + timedelta(microseconds=999_999)
    return comment._replace(created_at=START + apart, product_id=NAMES[comment.product_id])


def written(seed: int, length: int) -> list[Step]:
    return [Step(spread(step.old), spread(step.new)) for step in history(seed, length)]


def living(steps: list[Step]) -> list[Comment]:
    found: dict[str, Comment] = {}
    for step in steps:
        if step.old is not None:
            del found[step.old.comment_id]
        if step.new is not None:
            found[step.new.comment_id] = step.new
    return list(found.values())


async def assert_same(analytics: Analytics, comments: list[Comment]) -> int:
    compared = 0
    for interval in Interval:
        for product in NAMES.values():
            for languages in LANGUAGES:
                asked = TrendQuestion(product, Span.of(interval, None, None), languages)
                points = (await analytics.trend(asked)).points
                expected = oracle.trend(comments, product, interval, languages)
                assert [(point.start, point.counts) for point in points] == expected
                compared += len(expected)
        for by in MovedBy:
            instants = (START + timedelta(days=40), START + timedelta(days=75))
            asked_for = MoversQuestion(interval, by, *instants, at_least=2)
            movers = await analytics.movers(asked_for)
            days = (movers.earlier.start.date(), movers.later.start.date())
            assert days == tuple(oracle.day_of(interval, one) for one in instants)
            found = [
                (
                    one.product.product_id,
                    (one.earlier.count, one.earlier.stars),
                    (one.later.count, one.later.stars),
                )
                for one in movers.products
            ]
            assert found == oracle.movers(comments, interval, by, days, 2)
            compared += len(found)
    return compared


@pytest.mark.parametrize("seed", [1, 2])
async def test_answers_equal_the_oracles_after_random_edits_and_deletions(
    store: AnalyticsStore, tmp_path: Path, seed: int
) -> None:
    comments = living(written(seed, 120))
    parquet = oracle.write_export(tmp_path / "export.parquet", comments)
    export = await store.fill(parquet, EXPORTED)
    assert export.rows == len(comments)
    assert await store.export() == export
    analytics = asked_of(store)
    assert (await analytics.trend(TrendQuestion("x", Span(Interval.DAY)))).as_of == EXPORTED
    assert await assert_same(analytics, comments) > 100


async def test_a_trend_has_whole_periods_and_a_maximum_number_of_them(
    store: AnalyticsStore, tmp_path: Path
) -> None:
    days = [datetime(2020, 2, 27, 12, tzinfo=UTC) + timedelta(days=250 * n) for n in range(4)]
    comments = [
        Comment(f"c{number}", "p", "u", 5, "en", "", "", day) for number, day in enumerate(days)
    ]
    await store.fill(oracle.write_export(tmp_path / "e.parquet", comments), EXPORTED)
    analytics = asked_of(store)

    async def points(start: datetime | None, end: datetime | None, interval: Interval) -> list[str]:
        trend = await analytics.trend(TrendQuestion("p", Span.of(interval, start, end)))
        return [f"{point.start:%Y-%m-%d} {point.count}" for point in trend.points]

    assert len(await points(None, None, Interval.DAY)) == 400
    assert (await points(None, None, Interval.DAY))[-1] == "2022-03-18 1"
    late = days[0] + timedelta(hours=6)
    assert await points(late, late + timedelta(days=3), Interval.DAY) == [
        "2020-02-27 1",
        "2020-02-28 0",
        "2020-02-29 0",
        "2020-03-01 0",
    ]
    assert await points(late, datetime(2020, 3, 2, tzinfo=UTC), Interval.WEEK) == ["2020-02-24 1"]
    assert (await points(late, None, Interval.MONTH))[0] == "2020-02-01 1"
    assert await points(days[-1] + timedelta(days=90), None, Interval.MONTH) == []
    assert await points(None, datetime(1999, 1, 1, tzinfo=UTC), Interval.MONTH) == []
