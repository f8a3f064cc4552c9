"""Trends and movers in GraphQL: next to the table's data, with their limits and errors."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.analytics.duckdb_store import DuckDBStore
from features.analytics.errors import AWAY, NOT_SET_UP
from features.analytics.exporting import open_analytics
from features.analytics.service import Analytics
from features.analytics.store import AnalyticsStore
from resolvers.context import Context, Viewer
from server.settings import Settings
from tests.features.analytics.oracle import write_export
from tests.putting import put_comments
from tests.schema.conftest import ANN, STAFF, Answer, explaining
from tests.strategies import comment

EXPORTED = datetime(2026, 1, 1, tzinfo=UTC)
COMMENTS = [
    comment(
        f"c{n}",
        product_id="42" if n % 3 else "43",
        rating=1 + n % 5,
        language="de" if n % 2 else "en",
        created_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=n),
    )
    for n in range(60)
]
BOTH = """{ product(productId: "42") {
    statistics { total }
    trend(interval: MONTH, language: "EN") { points { start count average } asOf
        source { store rowsExported } } } }"""

Ask = Callable[..., Awaitable[Answer]]


@pytest.fixture(scope="module")
def schema() -> Schema:
    return explaining()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[DuckDBStore]:
    store = DuckDBStore(tmp_path / "analytics")
    await store.fill(write_export(tmp_path / "e.parquet", COMMENTS), EXPORTED)
    yield store
    await store.aclose()


@pytest.fixture
async def stores(table: Table) -> Stores:
    stores = Stores(table)
    await put_comments(stores.comments, COMMENTS[:9])
    return stores


@pytest.fixture
def ask(schema: Schema, stores: Stores, store: DuckDBStore) -> Ask:
    async def open_filled() -> AnalyticsStore:
        return store

    return asking(schema, stores, Analytics(open_filled))


def asking(schema: Schema, stores: Stores, analytics: Analytics | None) -> Ask:
    async def ask(text: str, viewer: Viewer | None = None) -> Answer:
        context = Context(viewer, stores, services={Analytics: analytics})
        result = await schema.execute(text, context_value=context)
        return {"data": result.data, "errors": [one.formatted for one in result.errors or []]}

    return ask


async def test_one_document_reads_dynamodb_and_the_analytics_store(ask: Ask) -> None:
    answer = await ask(BOTH)
    assert answer["errors"] == []
    product = answer["data"]["product"]
    assert product["statistics"] == {"total": 6}
    trend = product["trend"]
    assert trend["asOf"] == "2026-01-01T00:00:00.000000Z"
    assert trend["source"] == {"store": "DuckDB", "rowsExported": 60}
    wanted = [one for one in COMMENTS if one.product_id == "42" and one.language == "en"]
    by_month = [[one.rating for one in wanted if one.created_at.month == n] for n in (1, 2)]
    assert [(one["count"], one["average"]) for one in trend["points"]] == [
        (len(ratings), sum(ratings) / len(ratings)) for ratings in by_month
    ]


async def test_an_unavailable_analytics_store_does_not_fail_other_fields(
    schema: Schema, stores: Stores, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def away() -> AnalyticsStore:
        return await open_analytics(Settings(analytics_url="http://127.0.0.1:1"))

    for analytics, code in ((None, "NOT_AVAILABLE"), (Analytics(away), "UNAVAILABLE")):
        answer = await asking(schema, stores, analytics)(BOTH)
        assert answer["data"]["product"] == {"statistics": {"total": 6}, "trend": None}
        (error,) = answer["errors"]
        assert error["extensions"]["code"] == code
        assert error["path"] == ["product", "trend"]
    assert error["message"] == AWAY
    assert caplog.text.count("ClickHouse at 127.0.0.1 cannot be reached") == 1


async def test_errors_do_not_show_clients_the_commands_of_the_store(
    schema: Schema, stores: Stores, tmp_path: Path
) -> None:
    async def empty() -> AnalyticsStore:
        return DuckDBStore(tmp_path / "empty")

    (error,) = (await asking(schema, stores, Analytics(empty))(BOTH))["errors"]
    assert (error["message"], error["extensions"]["code"]) == (NOT_SET_UP, "NOT_AVAILABLE")


async def test_errors_do_not_show_clients_paths(
    ask: Ask, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (parquet,) = (tmp_path / "analytics").glob("base-*")
    parquet.write_bytes(b"PAR1 and nothing more")
    (error,) = (await ask(BOTH))["errors"]
    assert (error["message"], error["extensions"]["code"]) == (AWAY, "UNAVAILABLE")
    assert caplog.text.count(str(parquet)) == 1


MOVERS = """{ movers(interval: MONTH, to: "2024-02-10T00:00Z", by: %s, atLeast: 2, first: 1) {
    earlier { start end } later { start } products {
        product { productId statistics { total } } earlier { count average } } } }"""


async def test_only_staff_see_movers_and_their_products(ask: Ask) -> None:
    for viewer, code in ((None, "UNAUTHENTICATED"), (ANN, "FORBIDDEN")):
        (error,) = (await ask(MOVERS % "VOLUME", viewer))["errors"]
        assert error["extensions"]["code"] == code
    for by in ("VOLUME", "AVERAGE"):
        answer = await ask(MOVERS % by, STAFF)
        assert answer["errors"] == []
        movers = answer["data"]["movers"]
        assert movers["earlier"] == {
            "start": "2024-01-01T00:00:00.000000Z",
            "end": "2024-02-01T00:00:00.000000Z",
        }
        assert movers["later"] == {"start": "2024-02-01T00:00:00.000000Z"}
        assert len(movers["products"]) == 1


TREND = '{ product(productId: "42") { trend(%s) { points { start } } } }'


@pytest.mark.parametrize(
    ("arguments", "argument", "value"),
    [
        (
            'interval: DAY, from: "1020-01-01T00:00Z", to: "2020-01-01T00:00Z"',
            "from",
            "400",
        ),
        ('interval: DAY, from: "0001-01-01T00:00Z"', "from", "400"),
        (
            'interval: DAY, from: "2024-01-01T00:00Z", to: "2024-01-01T00:00Z"',
            "from",
            "`to`",
        ),
        (
            'interval: DAY, from: "2024-01-02T00:00Z", to: "2024-01-01T00:00Z"',
            "from",
            "`to`",
        ),
        ('interval: DAY, from: "0001-01-01T00:00:00+14:00"', "from", "9999"),
        ('interval: MONTH, language: ["en", "no language"]', "language", "BCP 47"),
    ],
)
async def test_bad_arguments_of_a_trend_are_reported(
    ask: Ask, arguments: str, argument: str, value: str
) -> None:
    answer = await ask(TREND % arguments)
    (error,) = answer["errors"]
    assert answer["data"]["product"] == {"trend": None}
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": argument}
    assert value in error["message"]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ('from: "2024-02-01T00:00Z", to: "2024-02-20T00:00Z"', "from"),
        ('from: "2024-03-01T00:00Z", to: "2024-02-20T00:00Z"', "from"),
        ("first: 0", "first"),
        ("first: 101", "first"),
        ("atLeast: 0", "atLeast"),
    ],
)
async def test_bad_arguments_of_movers_are_reported(
    ask: Ask, arguments: str, argument: str
) -> None:
    answer = await ask(f"{{ movers(interval: MONTH, {arguments}) {{ asOf }} }}", STAFF)
    (error,) = answer["errors"]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": argument}


async def test_periods_begin_in_utc(ask: Ask) -> None:
    told = 'interval: DAY, from: "2024-01-02T23:30:00%s", to: "2024-01-04T00:00:00%s"'
    for zone, first in (("Z", "2024-01-02"), ("-01:00", "2024-01-03")):
        points = (await ask(TREND % (told % (zone, zone))))["data"]["product"]["trend"]["points"]
        assert points[0]["start"] == f"{first}T00:00:00.000000Z"


async def test_an_operation_with_too_many_questions_is_too_costly(ask: Ask) -> None:
    trends = " ".join(f"t{n}: trend(interval: DAY) {{ asOf }}" for n in range(11))
    (error,) = (await ask(f'{{ product(productId: "42") {{ {trends} }} }}'))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert "11 queries to the analytics store; the maximum is 10" in error["message"]
