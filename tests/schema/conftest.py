"""Runs operations on the real schema over a real engine."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from strawberry import Schema

from dal.stores import Stores
from resolvers.budget import Budget
from resolvers.context import Context, Viewer
from schema.build import build_schema

Answer = dict[str, Any]
Run = Callable[..., Awaitable[Answer]]

ANN = Viewer("ann")
BOB = Viewer("bob")
MODERATOR = Viewer("mo", frozenset({"moderator"}))
STAFF = Viewer("stan", frozenset({"staff"}))


@pytest.fixture(scope="session")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def run(schema: Schema, stores: Stores) -> Run:
    """Execute an operation; the answer has ``data`` and ``errors`` as a client sees them."""

    async def run(
        operation: str,
        viewer: Viewer | None = None,
        *,
        explain: bool = False,
        budget: Budget | None = None,
        **variables: object,
    ) -> Answer:
        context = Context(viewer, stores, explain, budget or Budget())
        result = await schema.execute(operation, variables, context_value=context)
        errors = [error.formatted for error in result.errors or []]
        return {"data": result.data, "errors": errors}

    return run
