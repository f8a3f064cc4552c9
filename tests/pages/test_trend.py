"""The trend on a product's page, which is shown only if the analytics store has it."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.model import Comment
from features.analytics.duckdb_store import DuckDBStore
from features.analytics.questions import Interval, Span, TrendQuestion
from features.analytics.service import Analytics
from features.analytics.store import Export, Question, Result
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.services import services_of
from server.settings import Settings
from tests.features.analytics.oracle import write_export
from tests.pages.conftest import COMMENT, SECRET, Parsed, client_of, invalid_html, stored

EXPORTED = datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


def made(number: int, month: int, rating: int, language: str = "en") -> Comment:
    return COMMENT._replace(
        comment_id=f"trend-{number}",
        product_id="trend",
        rating=rating,
        language=language,
        created_at=datetime(2024, month, 2, tzinfo=UTC),
    )


COMMENTS = [made(0, 1, 5), made(1, 1, 4), made(2, 2, 1, "de"), made(3, 4, 3), made(4, 5, 3)]


async def page(
    table: Table, folder: Path, query: str = "", url: str | None = None
) -> httpx.Response:
    await stored(table, COMMENTS)
    settings = Settings(data_dir=folder, table=table.name, analytics_url=url)
    app = create_app(settings, services_of(settings, table, Authenticator(secret=lambda: SECRET)))
    async with client_of(app) as client:
        return await client.get(f"/products/trend{query}")


@pytest.fixture
async def folder(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with exported comments. The time limits of questions are long."""
    monkeypatch.setattr("features.analytics.service.DEADLINE", 60.0)
    monkeypatch.setattr("pages.product.TREND_TIMEOUT", 10.0)
    monkeypatch.setattr("pages.product._FEWEST_COMMENTS", 3)
    monkeypatch.setattr("pages.product._FEWEST_OF_A_MONTH", 1)
    store = DuckDBStore(tmp_path / "analytics" / table.name)
    await store.fill(write_export(tmp_path / "e.parquet", COMMENTS), EXPORTED)
    await store.aclose()
    return tmp_path


async def test_a_trend_has_a_line_for_consecutive_months_bars_and_a_table(
    table: Table, folder: Path, tmp_path: Path
) -> None:
    answer = await page(table, folder)
    found = Parsed(answer.text)
    lines = [given["d"] for tag, given in found.elements if tag == "path" and "mean" in str(given)]
    # Five months, each 200 units wide. March has no comment. 5 stars are at 4, and 1 star at 96.
    assert lines == ["M100.00 15.50L300.00 96.00", "M700.00 50.00L900.00 50.00"]
    volumes = [given for tag, given in found.elements if tag == "rect" and "y" in given]
    assert [(one["x"], one["height"]) for one in volumes] == [
        ("20.0", "100.0"),
        ("220.0", "50.0"),
        ("620.0", "50.0"),
        ("820.0", "50.0"),
    ]
    assert "As of 1 January 2026, 12:05 UTC" in found.text
    texts = [text.strip() for text in found.texts if text.strip()]
    table_of = texts[texts.index("As a table") + 1 :]
    assert table_of[:3] == ["Month", "Comments", "Average rating"]
    assert table_of[3:11] == ["May 2024", "1", "3.0", "April 2024", "1", "3.0", "March 2024", "0"]
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "trend.html").write_text(answer.text)
    assert invalid_html(tmp_path / "pages") == []


async def test_the_etag_of_a_page_changes_with_the_minute_of_its_trend(
    table: Table, folder: Path, tmp_path: Path
) -> None:
    tags = []
    for seconds in (0, 20, 60):
        store = DuckDBStore(folder / "analytics" / table.name)
        parquet = write_export(tmp_path / "e.parquet", COMMENTS)
        await store.fill(parquet, EXPORTED + timedelta(seconds=seconds))
        await store.aclose()
        tags.append((await page(table, folder)).headers["etag"])
    assert tags[0] == tags[1] != tags[2]


async def test_a_single_month_is_a_dot_and_the_filter_by_language_applies_to_the_trend(
    table: Table, folder: Path
) -> None:
    found = Parsed((await page(table, folder, "?language=en")).text)
    lines = [given["d"] for _, given in found.elements if given.get("class") == "mean"]
    assert lines == ["M100.00 15.50L100.00 15.50", "M700.00 50.00L900.00 50.00"]


async def test_few_comments_or_months_have_no_trend(
    table: Table, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    german = await page(table, folder, "?language=de")  # has only one comment
    monkeypatch.setattr("pages.product._FEWEST_COMMENTS", len(COMMENTS) + 1)
    for answer in (german, await page(table, folder)):
        assert answer.status_code == 200
        assert 'class="trend"' not in answer.text


async def test_a_much_later_comment_does_not_squeeze_the_drawing(
    table: Table, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single comment after two years is not drawn."""
    monkeypatch.setattr("pages.product._FEWEST_OF_A_MONTH", 2)
    late = made(99, 1, 1)._replace(created_at=datetime(2025, 12, 31, tzinfo=UTC))
    many = [made(number, number % 4 + 1, 4) for number in range(20)]
    store = DuckDBStore(folder / "analytics" / table.name)
    await store.fill(write_export(tmp_path / "e.parquet", [*many, late]), EXPORTED)
    await store.aclose()
    found = Parsed((await page(table, folder)).text)
    assert "from January 2024 to April 2024" in found.text
    assert "2025" not in found.text


async def test_a_page_that_does_not_wait_for_the_store_does_not_stop_its_opening(
    folder: Path,
) -> None:
    opened: list[DuckDBStore] = []

    async def open_slowly() -> DuckDBStore:
        await asyncio.sleep(0.05)
        opened.append(DuckDBStore(next((folder / "analytics").iterdir())))
        return opened[-1]

    analytics = Analytics(open_slowly)
    question = TrendQuestion("trend", Span(Interval.MONTH))
    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await analytics.trend(question)
    await asyncio.sleep(0.1)
    assert len(opened) == 1
    assert len((await analytics.trend(question)).points) == 5
    assert len(opened) == 1
    await analytics.aclose()


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1"])
async def test_a_page_has_no_trend_without_analytics(
    table: Table, tmp_path: Path, url: str | None
) -> None:
    answer = await page(table, tmp_path, url=url)
    assert answer.status_code == 200
    assert 'class="trend"' not in answer.text
    assert "As of" not in answer.text


async def test_a_page_does_not_wait_for_a_slow_drawing(
    table: Table, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(_: DuckDBStore, question: Question, export: Export) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(DuckDBStore, "ask", ask)
    monkeypatch.setattr("pages.product.TREND_TIMEOUT", 0.05)
    answer = await page(table, folder)
    assert answer.status_code == 200
    assert 'class="trend"' not in answer.text
