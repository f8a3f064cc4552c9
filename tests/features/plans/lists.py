"""What plans add to the lists of the core's tests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from features.plans.resolvers import TRACED
from resolvers.context import Viewer
from resolvers.selection import ObservedPages

PLAN_ARGUMENTS = ("planBy",)
"""Arguments that decide how a page is planned."""

SIZED_BY_READS = ("QueryPlan.rows",)
"""Lists with as many rows as the server reads for a page."""

RARE = {
    "full pages by rating": (
        Viewer("user1"),
        """{ product(productId: "big") { comments(first: 13, orderBy: HIGHEST_RATING,
        hasPhotos: true, planBy: NOTHING) { __typename } } }""",
    ),
}
"""Rare operations, and their users."""


@asynccontextmanager
async def services(_: Path) -> AsyncIterator[Mapping[type, object]]:
    """Yield the services that the fields use."""
    yield {ObservedPages: TRACED}


COMMANDS_WITH_AN_ID = {"explain {}": True}
"""Commands that take an own id, and whether they read the table."""
