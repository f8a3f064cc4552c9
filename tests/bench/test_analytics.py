"""The rows that are measured, and that every question has an answer of them."""

from pathlib import Path

from analytics.duckdb_store import DuckDBStore
from analytics.questions import Movers, Trend
from analytics.service import Analytics
from analytics.store import AnalyticsStore
from bench.analytics import QUESTIONS, change, fill, measure, scanned, write_rows
from dal.table.client import Table

ROWS = 20_000


async def test_every_question_is_answered_before_and_after_changes(tmp_path: Path) -> None:
    store = DuckDBStore(tmp_path / "store")

    async def opened() -> AnalyticsStore:
        return store

    write_rows(tmp_path / "rows.parquet", ROWS)
    assert await fill(store, tmp_path / "rows.parquet") > 0
    for changed in (False, True):
        if changed:
            await change(store, 1_500)
        for ask in QUESTIONS.values():
            answer = await ask(Analytics(opened))
            assert answer.source.changed is changed
            assert answer.points if isinstance(answer, Trend) else answer.products
            assert isinstance(answer, Trend | Movers)
            assert (await measure(store, ask, 1)).rows_read > 0
    await store.close()


async def test_a_scan_sees_what_was_put(table: Table) -> None:
    assert await scanned(table, 300) > 0
