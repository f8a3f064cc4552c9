"""ClickHouse's tables: years that they cannot store, and exports that replace older exports."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import encode_basic_auth

from features.analytics import clickhouse_store as clickhouse_module
from features.analytics import sql
from features.analytics.clickhouse_store import ClickHouseStore
from features.analytics.errors import AnalyticsUnavailableError
from features.analytics.questions import Interval, Span, TrendQuestion
from tests.features.analytics import oracle
from tests.features.analytics.test_answers import EXPORTED
from tests.features.analytics.test_duckdb_store import COMMENT, counts, filled


async def test_comments_outside_clickhouses_range_of_dates_are_left_out(
    clickhouse_store: ClickHouseStore, tmp_path: Path
) -> None:
    early = COMMENT._replace(comment_id="e", created_at=datetime(1969, 12, 31, tzinfo=UTC))
    late = COMMENT._replace(comment_id="l", created_at=datetime(2150, 1, 1, tzinfo=UTC))
    parquet = oracle.write_export(tmp_path / "e.parquet", [COMMENT, early, late])
    assert (await clickhouse_store.fill(parquet, EXPORTED)).rows == 1
    assert await counts(clickhouse_store) == [(0, 0, 0, 0, 1)]


async def test_earlier_exports_are_dropped(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, tmp_path: Path
) -> None:
    for _ in range(2):
        await filled(clickhouse_store, tmp_path)
    async with httpx.AsyncClient() as client:
        tables = (await client.post(clickhouse_url, content="SHOW TABLES")).text.split()
    assert len([one for one in tables if one.startswith(clickhouse_store._prefix)]) == 2
    assert await counts(clickhouse_store) == [(0, 0, 0, 0, 1)]


@pytest.mark.parametrize(
    "said",
    [
        "Code: 60, e.displayText() = DB::Exception: Table default.t_state doesn't exist.",
        "Code: 60. DB::Exception: Table default.t_state does not exist. (UNKNOWN_TABLE)",
    ],
)
async def test_a_missing_table_is_recognised_in_the_messages_of_old_and_new_releases(
    serve_body: Callable[..., str], said: str
) -> None:
    assert await ClickHouseStore(serve_body(said.encode(), status=404), "t").export() is None


def test_credentials_of_the_url_are_sent_in_utf_8() -> None:
    store = ClickHouseStore("http://%C5%82ukasz:h%40s%C5%82o@127.0.0.1:8123/?database=shop", "t")
    assert str(store._url) == "http://127.0.0.1:8123/?database=shop"
    assert store._headers == {"Authorization": encode_basic_auth("łukasz", "h@sło")}


async def test_credentials_of_the_users_netrc_file_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, serve_body: Callable[..., str]
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n", encoding="ascii")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    url = serve_body(b'{"data": []}').replace("//", "//ana:secret@")
    assert await ClickHouseStore(url, "t").export() is None


async def test_a_refresh_that_another_refresh_replaces_fails_with_a_message(
    clickhouse_store: ClickHouseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = clickhouse_module._exported

    def overtaken(parquet: Path) -> Iterator[list[dict[str, Any]]]:
        for batch in read(parquet):
            url = str(clickhouse_store._url)
            for name in httpx.post(url, content="SHOW TABLES").text.split():
                if name.startswith(f"{clickhouse_store._prefix}_base_"):
                    httpx.post(url, content=f"DROP TABLE {name}").raise_for_status()
            yield batch

    monkeypatch.setattr(clickhouse_module, "_exported", overtaken)
    with pytest.raises(AnalyticsUnavailableError, match=clickhouse_module.REPLACED):
        await filled(clickhouse_store, tmp_path)


async def test_exports_of_a_table_with_a_longer_name_are_kept(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, tmp_path: Path
) -> None:
    other = ClickHouseStore(clickhouse_url, f"{clickhouse_store._prefix}_base_x")
    await filled(other, tmp_path)
    await filled(clickhouse_store, tmp_path)
    assert await counts(other) == [(0, 0, 0, 0, 1)]
    await other.aclose()


async def test_a_period_beyond_clickhouses_dates_includes_all_its_comments(
    clickhouse_store: ClickHouseStore, tmp_path: Path
) -> None:
    await filled(clickhouse_store, tmp_path)
    export = await clickhouse_store.export()
    assert export is not None

    async def found(*years: int) -> list[int]:
        start, end = (datetime(year, 1, 1, tzinfo=UTC) for year in years)
        result = await clickhouse_store.ask(
            lambda relation: sql.trend(
                relation, TrendQuestion("p", Span(Interval.MONTH)), (start, end)
            ),
            export,
        )
        return [int(row[-1]) for row in result.rows]

    assert await found(1200, 9000) == [1]
    assert await found(1200, 1300) == []
    assert await found(2200, 9000) == []
