"""What analytics adds to the lists of the core's tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from features.analytics.service import Analytics
from tests.features.analytics.exported import movers

ROOTS = {"movers": "(interval: MONTH)"}
"""The root fields with arguments."""

SIZED_BY_REQUEST = ("Movers.products",)
"""Lists, except of connections, with as many rows as requested."""

SETTINGS = {"analytics_url": ("http://u:secret@127.0.0.1:8123", "http://u:secret@127.0.0.1:8123")}
"""Settings with the text of the environment variable and the value."""


@asynccontextmanager
async def services(directory: Path) -> AsyncIterator[Mapping[type, object]]:
    """Yield the services that the fields use."""
    async with movers(directory) as analytics:
        yield {Analytics: analytics}


COMMANDS_WITH_AN_ID = {"analytics trend {}": False}
"""Commands that take an own id, and whether they read the table."""
