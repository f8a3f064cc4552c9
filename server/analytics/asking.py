"""Opens the analytics store that the settings name."""

from functools import partial
from importlib.util import find_spec

from dal.analytics.errors import NOT_FILLED, NOT_INSTALLED, AnalyticsMissingError
from dal.analytics.service import Analytics, folder_of, open_store
from dal.analytics.store import AnalyticsStore
from server.settings import Settings

_INSTALLED = find_spec("duckdb") is not None
"""Nothing is installed into a process that runs, and each product's page asks."""


def analytics_of(settings: Settings) -> Analytics:
    """Return what answers questions; the store is opened by the first."""
    return Analytics(partial(_open_filled, settings))


async def open_analytics(settings: Settings) -> AnalyticsStore:
    """Open the store of the settings; AnalyticsMissingError where it is not installed."""
    return await open_store(settings.data_dir, settings.table, settings.analytics_url)


async def _open_filled(settings: Settings) -> AnalyticsStore:
    """Open the store unless nobody filled it: DuckDB takes 50 MB and a quarter of a second."""
    if not is_filled(settings):
        raise AnalyticsMissingError(NOT_FILLED if _INSTALLED else NOT_INSTALLED)
    return await open_analytics(settings)


def is_filled(settings: Settings) -> bool:
    """Return whether there may be something to ask and keep up, without opening anything."""
    if settings.analytics_url is not None:
        return True
    return folder_of(settings.data_dir, settings.table).exists()
