"""What plans add to the lists of the core's tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from features.plans.resolvers import TRACED
from resolvers.selection import ObservedPages


@asynccontextmanager
async def services(_: Path) -> AsyncIterator[Mapping[type, object]]:
    """Yield the services that the fields use."""
    yield {ObservedPages: TRACED}
