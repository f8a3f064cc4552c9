"""Opens the analytics store, and fills it with an export of all published comments."""

import asyncio
import tempfile
from contextlib import aclosing
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dal.table.errors import DalError
from features.analytics.errors import NOT_INSTALLED, AnalyticsMissingError
from features.analytics.service import Analytics
from features.analytics.store import AnalyticsStore, Export
from server.errors import CommandError
from server.findings import Finding, ok, warning
from server.proxies import proxy_of
from server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dal.dynamodb.scan import Progress
    from dal.kinds.item_kind import ItemKind
    from server.local_engine.storage import Store

_INSTALLED = find_spec("duckdb") is not None
"""Whether DuckDB is installed. This is checked only once, because every product page with a trend
needs the result."""


def analytics_of(settings: Settings) -> Analytics:
    """Return the service for trends of products, and for movers (the products that changed most).

    The analytics store opens when the service's method ``start`` is called, or when a client first
    requests a trend or movers.
    """
    folder = _folder(settings)
    empty = (
        f"There is no analytics data in {settings.data_dir.resolve()}: run `marginalia analytics "
        "refresh`, or name the server's data directory with --data-dir."
    )

    def may_be_filled() -> bool:
        return settings.analytics_url is not None or folder.exists()

    async def open_filled() -> AnalyticsStore:
        # The import of DuckDB needs 50 MB of memory and a quarter of a second. So DuckDB is
        # imported only if the data directory may have analytics data.
        if not may_be_filled():
            raise AnalyticsMissingError(empty if _INSTALLED else NOT_INSTALLED)
        return await open_analytics(settings)

    return Analytics(open_filled, may_be_filled)


def _folder(settings: Settings) -> Path:
    """Return the folder in the data directory for the DuckDB files of a table."""
    return settings.data_dir / "analytics" / settings.table


async def open_analytics(settings: Settings) -> AnalyticsStore:
    """Return the analytics store of a table: ClickHouse, or DuckDB with files.

    Raises AnalyticsMissingError if the store's packages are not installed.
    """

    def opened() -> AnalyticsStore:
        try:
            if (url := settings.analytics_url) is not None:
                from features.analytics.clickhouse_store import ClickHouseStore  # noqa: PLC0415

                return ClickHouseStore(url, settings.table, proxy_of(url))
            from features.analytics import sql  # noqa: F401, PLC0415 - takes 0.1 s: do it in this thread
            from features.analytics.duckdb_store import DuckDBStore  # noqa: PLC0415 - an optional package

            return DuckDBStore(_folder(settings))
        except ImportError:
            raise AnalyticsMissingError(NOT_INSTALLED) from None

    return await asyncio.to_thread(opened)


async def checked(settings: Settings) -> Finding:
    """Check that ClickHouse responds, if the settings use it for trends."""
    if settings.analytics_url is None:
        return ok("ClickHouse", "not configured.")
    try:
        async with aclosing(await open_analytics(settings)) as opened:
            filled = await opened.export()
    except DalError as error:
        return warning("ClickHouse", f"trends fail: {error}")
    if filled is None:
        return warning("ClickHouse", "it has no comments yet: run `marginalia analytics refresh`.")
    return ok("ClickHouse", f"it has {filled.rows:,} comments.")


async def refresh(
    settings: Settings, store: "Store", seen: "Progress", kinds: "Sequence[ItemKind]"
) -> Export:
    """Export all published comments to the analytics store. ``kinds`` are all kinds of items.

    The store then computes trends and movers from this export.
    """
    # The import is here because a server imports this module but does not need the exporter.
    from features.loading.export_files import directory_of, export  # noqa: PLC0415
    from features.loading.export_rows import Layout  # noqa: PLC0415
    from features.loading.kind import with_file  # noqa: PLC0415

    async with aclosing(await open_analytics(settings)) as analytics:
        with _room(settings.data_dir) as folder:
            target = directory_of(Path(folder), with_file(kinds, "comments"), Layout("parquet"))
            manifest = await export(store.table, target, store.place, seen)
            began = datetime.fromisoformat(manifest.begun)
            return await analytics.fill(target.files["comments"], began)


def _room(data_dir: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder for the export, on the same disk as the data."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="analytics-export-", dir=data_dir)
    except OSError as error:
        raise CommandError(
            f"{data_dir} cannot be written ({error.strerror}): name another directory with "
            "--data-dir."
        ) from error
