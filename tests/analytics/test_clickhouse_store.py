"""ClickHouse's tables: years that it has no dates for, exports and runs that are over."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from analytics import clickhouse_store as clickhouse_module
from analytics import queries
from analytics.change_log import ChangeLog, new_run
from analytics.clickhouse_store import ClickHouseStore
from analytics.errors import AnalyticsUnavailableError
from analytics.periods import Interval
from analytics.store import State
from tests.analytics import oracle
from tests.analytics.test_answers import EXPORTED
from tests.analytics.test_duckdb_store import COMMENT, counts, filled


async def test_comments_of_years_without_dates_are_left_out(
    clickhouse_store: ClickHouseStore, tmp_path: Path
) -> None:
    early = COMMENT._replace(comment_id="e", created_at=datetime(1969, 12, 31, tzinfo=UTC))
    late = COMMENT._replace(comment_id="l", created_at=datetime(2150, 1, 1, tzinfo=UTC))
    parquet = oracle.write_export(tmp_path / "e.parquet", [COMMENT, early, late])
    assert (await clickhouse_store.fill(parquet, EXPORTED, "s")).rows == 1
    log = ChangeLog(clickhouse_store, new_run("s", {}, EXPORTED - timedelta(hours=1)))
    changes = [("e", "1", early), ("l", "2", late)]
    await log.keep(
        "shard", "2", [(one, "0" + number, to) for one, number, to in changes], done=False
    )
    await log.catch_up(EXPORTED)
    assert await counts(clickhouse_store) == [(0, 0, 0, 0, 1)]


async def test_exports_and_runs_that_are_over_are_dropped(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, tmp_path: Path
) -> None:
    for _ in range(2):
        run = new_run("s", {}, EXPORTED - timedelta(hours=1))
        await clickhouse_store.follow(run)
        log = ChangeLog(clickhouse_store, run)
        await log.keep("shard", "1", [("c", "1", COMMENT._replace(rating=2))], done=False)
        await filled(clickhouse_store, tmp_path)

    def told(sql: str) -> list[str]:
        return httpx.post(clickhouse_url, content=sql).text.split()

    prefix = clickhouse_store._prefix
    tables = [one for one in told("SHOW TABLES") if one.startswith(prefix)]
    assert len(tables) == 3
    assert told(f"SELECT DISTINCT run FROM {prefix}_changes") == [run.run]
    await log.catch_up(EXPORTED)
    assert await counts(clickhouse_store) == [(0, 1, 0, 0, 0)]


@pytest.mark.parametrize(
    "said",
    [
        "Code: 60, e.displayText() = DB::Exception: Table default.t_state doesn't exist.",
        "Code: 60. DB::Exception: Table default.t_state does not exist. (UNKNOWN_TABLE)",
    ],
)
async def test_a_missing_table_is_known_by_what_old_and_new_releases_say(said: str) -> None:
    store = ClickHouseStore("http://127.0.0.1:1", "t")
    answer = httpx.MockTransport(lambda _: httpx.Response(404, text=said))
    store._client = httpx.AsyncClient(transport=answer)
    assert await store.state() == State()
    await store.close()


async def test_a_refresh_that_another_one_overtakes_says_so(
    clickhouse_store: ClickHouseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = clickhouse_module._exported

    def overtaken(parquet: Path) -> Iterator[list[dict[str, Any]]]:
        for batch in read(parquet):
            url = clickhouse_store._url
            for name in httpx.post(url, content="SHOW TABLES").text.split():
                if name.startswith(f"{clickhouse_store._prefix}_base_"):
                    httpx.post(url, content=f"DROP TABLE {name}").raise_for_status()
            yield batch

    monkeypatch.setattr(clickhouse_module, "_exported", overtaken)
    with pytest.raises(AnalyticsUnavailableError, match="Another refresh replaced this one"):
        await filled(clickhouse_store, tmp_path)


async def test_the_exports_of_a_table_with_a_longer_name_stay(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, tmp_path: Path
) -> None:
    other = ClickHouseStore(clickhouse_url, f"{clickhouse_store._prefix}_base_x")
    await filled(other, tmp_path)
    await filled(clickhouse_store, tmp_path)
    assert await counts(other) == [(0, 0, 0, 0, 1)]
    await other.close()


async def test_bounds_beyond_its_dates_hold_all_that_it_has(
    clickhouse_store: ClickHouseStore, tmp_path: Path
) -> None:
    await filled(clickhouse_store, tmp_path)
    state = await clickhouse_store.state()

    async def found(*years: int) -> list[int]:
        start, end = (datetime(year, 1, 1, tzinfo=UTC) for year in years)
        result = await clickhouse_store.ask(
            lambda relation: queries.trend(relation, "p", Interval.MONTH, (start, end), None), state
        )
        return [int(row[-1]) for row in result.rows]

    assert await found(1200, 9000) == [1]
    assert await found(1200, 1300) == []
    assert await found(2200, 9000) == []
