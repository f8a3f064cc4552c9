"""Opens the analytics store of the settings, and fills it by an export of all comments."""

import tempfile
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dal.analytics.errors import NOT_FILLED, NOT_INSTALLED, AnalyticsMissingError
from dal.analytics.service import Analytics, folder_of, open_store
from dal.analytics.store import AnalyticsStore, Export
from server.errors import CommandError
from server.settings import Settings

if TYPE_CHECKING:
    from dal.client.scan import Progress
    from server.engine.storage import Store

_INSTALLED = find_spec("duckdb") is not None
"""Looked up once, since every product page with a trend needs it."""


def analytics_of(settings: Settings) -> Analytics:
    """Return the service for questions; the first question opens its store."""
    return Analytics(partial(_open_filled, settings))


async def open_analytics(settings: Settings) -> AnalyticsStore:
    """Open the store of the settings; raise AnalyticsMissingError if it is not installed."""
    return await open_store(settings.data_dir, settings.table, settings.analytics_url)


async def _open_filled(settings: Settings) -> AnalyticsStore:
    """Open the store if it may have data, since DuckDB takes 50 MB and a quarter of a second."""
    if not is_filled(settings):
        raise AnalyticsMissingError(NOT_FILLED if _INSTALLED else NOT_INSTALLED)
    return await open_analytics(settings)


def is_filled(settings: Settings) -> bool:
    """Return whether the store may have data, without opening it."""
    if settings.analytics_url is not None:
        return True
    return folder_of(settings.data_dir, settings.table).exists()


async def refresh(settings: Settings, store: "Store", seen: "Progress") -> Export:
    """Export all comments, and make that export the current one for all questions."""
    # A server imports this module, but not the exporter.
    from server.exporter.export_files import export  # noqa: PLC0415
    from server.exporter.manifest import directory_of  # noqa: PLC0415

    analytics = await open_analytics(settings)
    try:
        with _room(settings.data_dir) as folder:
            target = directory_of(Path(folder), ["comments"], "parquet")
            manifest = await export(store.table, target, store.place, seen)
            began = datetime.fromisoformat(manifest.begun)
            return await analytics.fill(target.files["comments"], began)
    finally:
        await analytics.close()


def _room(data_dir: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder on the disk of the data, for the export."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="analytics-export-", dir=data_dir)
    except OSError as error:
        raise CommandError(
            f"{data_dir} cannot be written ({error.strerror}): name another --data-dir."
        ) from error
