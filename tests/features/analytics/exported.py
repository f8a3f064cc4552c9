"""An analytics store with exported comments."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from features.analytics.duckdb_store import DuckDBStore
from features.analytics.service import Analytics
from features.analytics.store import AnalyticsStore
from tests.features.analytics.oracle import write_export
from tests.schema.execution.filled import COMMENTS


@asynccontextmanager
async def movers(directory: Path) -> AsyncIterator[Analytics]:
    """Yield an analytics store with the same comments, exported a month after the last one."""
    store = DuckDBStore(directory / "analytics")
    later = max(one.created_at for one in COMMENTS) + timedelta(days=31)
    await store.fill(write_export(directory / "export.parquet", COMMENTS), later)

    async def open_store() -> AnalyticsStore:
        return store

    yield Analytics(open_store)
    await store.aclose()
