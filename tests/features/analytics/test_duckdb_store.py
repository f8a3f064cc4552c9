"""The embedded store's files: replaced during a read, damaged, or missing."""

import asyncio
import os
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dal.model import Comment
from features.analytics import sql
from features.analytics.duckdb_store import DuckDBStore
from features.analytics.errors import (
    NOT_FILLED,
    AnalyticsFailedError,
    AnalyticsUnavailableError,
)
from features.analytics.exporting import open_analytics
from features.analytics.questions import Interval, Span, TrendQuestion
from features.analytics.service import MAX_WAITING_QUESTIONS
from features.analytics.store import AnalyticsStore, Export, Question, Result
from server.settings import Settings
from tests.features.analytics import oracle
from tests.features.analytics.test_answers import EXPORTED, asked_of

COMMENT = Comment("c", "p", "u", 5, "en", "", "", datetime(2024, 1, 1, tzinfo=UTC))
ASKED = TrendQuestion("p", Span(Interval.MONTH))


async def filled(store: AnalyticsStore, folder: Path, *comments: Comment) -> None:
    parquet = oracle.write_export(folder / "export.parquet", comments or [COMMENT])
    await store.fill(parquet, EXPORTED)


async def counts(store: AnalyticsStore) -> list[tuple[int, ...]]:
    return [tuple(point.counts) for point in (await asked_of(store).trend(ASKED)).points]


async def test_an_export_is_replaced_during_a_question(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    await filled(duckdb_store, tmp_path)
    before = await duckdb_store.export()
    assert before is not None
    await filled(duckdb_store, tmp_path, COMMENT, COMMENT._replace(comment_id="d"))
    (kept,) = (tmp_path / "an 'odd' name").glob("base-*")
    assert kept.name != before.name

    result = await duckdb_store.ask(
        lambda comments: sql.trend(comments, ASKED, (None, None)), before
    )
    assert [tuple(row)[-1] for row in result.rows] == [2]


async def test_broken_files_are_reported_with_the_command_to_run(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    await filled(duckdb_store, tmp_path)
    (parquet,) = (tmp_path / "an 'odd' name").glob("base-*")
    parquet.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(AnalyticsFailedError, match="`marginalia analytics refresh`"):
        await counts(duckdb_store)
    (tmp_path / "an 'odd' name" / "base.json").write_text("{")
    with pytest.raises(AnalyticsFailedError, match="`marginalia analytics refresh`"):
        await duckdb_store.export()


async def test_an_empty_or_missing_store_says_how_to_fill_or_install_it(
    duckdb_store: DuckDBStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AnalyticsUnavailableError, match=NOT_FILLED):
        await counts(duckdb_store)
    for module in ("features.analytics.duckdb_store", "features.analytics.clickhouse_store"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for url in (None, "http://127.0.0.1:1"):
        with pytest.raises(AnalyticsUnavailableError, match=r"pip install .*\[analytics"):
            await open_analytics(Settings(data_dir=tmp_path, analytics_url=url))


async def test_an_unreachable_server_is_reported_with_its_host() -> None:
    store = await open_analytics(Settings(analytics_url="http://127.0.0.1:1"))
    with pytest.raises(
        AnalyticsUnavailableError, match=r"ClickHouse at 127\.0\.0\.1 cannot be reached"
    ):
        await counts(store)
    await store.aclose()


class SlowStore:
    """A store that responds only after the event ``go``."""

    name = "slow"

    def __init__(self, store: DuckDBStore) -> None:
        self._store = store
        self.go = asyncio.Event()
        self.asked = 0

    async def ask(self, question: Question, export: Export) -> Result:
        self.asked += 1
        await self.go.wait()
        return await self._store.ask(question, export)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_too_many_concurrent_questions_are_refused_and_answers_are_cached(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    await filled(duckdb_store, tmp_path)
    slow = SlowStore(duckdb_store)
    analytics = asked_of(slow)
    slow.go.set()
    kept = await analytics.trend(ASKED)
    slow.go.clear()
    asked = [TrendQuestion(f"{number}", ASKED.span) for number in range(MAX_WAITING_QUESTIONS + 1)]
    asking = [asyncio.create_task(analytics.trend(one)) for one in asked[1:]]
    while slow.asked < 1 + MAX_WAITING_QUESTIONS:  # noqa: ASYNC110 - of many tasks, the last one
        await asyncio.sleep(0.01)
    with pytest.raises(AnalyticsUnavailableError, match="is busy"):
        await analytics.trend(asked[0])
    assert await analytics.trend(ASKED) is kept, "a known answer is never refused"
    slow.go.set()
    assert [one.points for one in await asyncio.gather(*asking)] == [[]] * MAX_WAITING_QUESTIONS
    assert slow.asked == 1 + MAX_WAITING_QUESTIONS
    await filled(duckdb_store, tmp_path)
    assert await analytics.trend(ASKED) is not kept
    assert slow.asked == 2 + MAX_WAITING_QUESTIONS


async def test_equal_concurrent_questions_run_once(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    await filled(duckdb_store, tmp_path)
    slow = SlowStore(duckdb_store)
    slow.go.set()
    analytics = asked_of(slow)
    many = [analytics.trend(ASKED) for _ in range(3 * MAX_WAITING_QUESTIONS)]
    answers = await asyncio.gather(*many)
    assert slow.asked == 1
    assert all(one is answers[0] for one in answers)
    assert [point.counts for point in answers[0].points] == [(0, 0, 0, 0, 1)]


async def test_a_question_that_takes_too_long_is_interrupted(
    duckdb_store: DuckDBStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(duckdb_store, tmp_path)
    monkeypatch.setattr("features.analytics.service.DEADLINE", 0.3)
    endless = (
        "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"
    )
    monkeypatch.setattr("features.analytics.sql.duckdb", lambda _: endless)
    with pytest.raises(AnalyticsUnavailableError, match="too long"):
        await counts(duckdb_store)
    monkeypatch.undo()
    assert await counts(duckdb_store) == [(0, 0, 0, 0, 1)]  # the thread can run the next question


async def test_a_full_disk_keeps_the_previous_export(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    await filled(duckdb_store, tmp_path)
    many = [COMMENT._replace(comment_id=f"{seed:x}") for seed in range(10**9, 10**9 + 20_000)]
    parquet = oracle.write_export(tmp_path / "many.parquet", many)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        with pytest.raises(AnalyticsFailedError, match=r"^The disk .*\(IO Error"):
            await duckdb_store.fill(parquet, EXPORTED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await counts(duckdb_store) == [(0, 0, 0, 0, 1)]
    await filled(duckdb_store, tmp_path)
    (kept,) = (tmp_path / "an 'odd' name").glob("base-*")
    assert kept.suffix == ".parquet"


async def test_a_new_file_is_synced_before_the_old_file_is_removed(
    duckdb_store: DuckDBStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = set()

    def fsync(descriptor: int) -> None:
        synced.add(os.stat(descriptor).st_ino)

    monkeypatch.setattr("os.fsync", fsync)
    await filled(duckdb_store, tmp_path)
    kept = [one for one in (tmp_path / "an 'odd' name").rglob("*") if one.is_file()]
    assert [one.name for one in kept if one.stat().st_ino not in synced] == []


async def test_duckdb_spills_next_to_its_files_and_uses_no_network(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    await filled(duckdb_store, tmp_path)
    with duckdb_store._database.cursor() as cursor:
        cursor.execute("SET memory_limit = '20MB'")
        cursor.execute("CREATE TEMP TABLE t AS SELECT hash(range) AS one FROM range(4_000_000)")
        (spilled,) = (tmp_path / "an 'odd' name").glob("spilled-*")
        assert [*spilled.iterdir()]
        with pytest.raises(duckdb.Error, match="LOAD httpfs"):
            cursor.execute("FROM 'https://127.0.0.1:1/some.parquet'")


async def test_concurrent_refreshes_leave_one_complete_export(
    duckdb_store: DuckDBStore, tmp_path: Path
) -> None:
    folder = tmp_path / "an 'odd' name"
    other = DuckDBStore(folder)
    parquet = oracle.write_export(tmp_path / "export.parquet", [COMMENT])
    for _ in range(12):
        await asyncio.gather(*(one.fill(parquet, EXPORTED) for one in (duckdb_store, other)))
        export = await other.export()
        assert export is not None
        assert [one.name for one in folder.glob("base-*")] == [export.name]
    await other.aclose()
