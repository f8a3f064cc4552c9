"""What aspects add to the lists of the core's tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from dal.model.shop_aspects import ShopAspects
from features.aspects.settings import labels_of

ROOTS = {"aspects": ""}
"""The root fields, with their arguments."""

SETTINGS = {"aspects": ("fit=Fit;de=Passform,quality", "fit=Fit;de=Passform,quality")}
"""Settings with the text of the environment variable and the value."""


@asynccontextmanager
async def services(_: Path) -> AsyncIterator[Mapping[type, object]]:
    """Yield the services that the fields use."""
    yield {ShopAspects: labels_of("fit=Fit;de=Passform,quality")}
