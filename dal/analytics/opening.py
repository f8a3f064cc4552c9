"""Opens the store that the settings name."""

import asyncio
from pathlib import Path

from dal.analytics.errors import NOT_INSTALLED, AnalyticsMissingError
from dal.analytics.store import AnalyticsStore


async def open_store(directory: Path, table: str, url: str | None) -> AnalyticsStore:
    """Open the store of one table: ClickHouse at ``url``, or DuckDB in a data directory.

    AnalyticsMissingError where the packages for it are not installed.
    """
    return await asyncio.to_thread(_opened, directory, table, url)


def folder_of(directory: Path, table: str) -> Path:
    """Return where a data directory has DuckDB's files of a table."""
    return directory / "analytics" / table


def _opened(directory: Path, table: str, url: str | None) -> AnalyticsStore:
    try:
        if url is not None:
            from dal.analytics.clickhouse_store import ClickHouseStore  # noqa: PLC0415 - an extra

            return ClickHouseStore(url, table)
        from dal.analytics.duckdb_store import DuckDBStore  # noqa: PLC0415 - an extra

        return DuckDBStore(folder_of(directory, table))
    except ImportError:
        raise AnalyticsMissingError(NOT_INSTALLED) from None
