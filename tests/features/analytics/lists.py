"""What analytics adds to the lists of the core's tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from features.analytics.duckdb_store import DuckDBStore
from features.analytics.service import Analytics
from features.analytics.store import AnalyticsStore
from tests.features.analytics.oracle import write_export
from tests.schema.execution.filled import COMMENTS

ROOTS = {"movers": "(interval: MONTH)"}
"""The root fields with arguments."""

SIZED_BY_REQUEST = ("Movers.products",)
"""Lists, except of connections, with as many rows as requested."""

SETTINGS = {"analytics_url": ("http://u:secret@127.0.0.1:8123", "http://u:secret@127.0.0.1:8123")}
"""Settings with the text of the environment variable and the value."""


@asynccontextmanager
async def movers(directory: Path) -> AsyncIterator[Analytics]:
    """Yield an analytics store with the same comments, exported a month after the last one."""
    store = DuckDBStore(directory / "analytics")
    later = max(one.created_at for one in COMMENTS) + timedelta(days=31)
    await store.fill(write_export(directory / "export.parquet", COMMENTS), later)

    async def open_store() -> AnalyticsStore:
        return store

    yield Analytics(open_store)
    await store.close()


@asynccontextmanager
async def services(directory: Path) -> AsyncIterator[Mapping[type, object]]:
    """Yield the services that the fields use."""
    async with movers(directory) as analytics:
        yield {Analytics: analytics}
