"""Runs operations on the real schema over a real engine."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from strawberry import Schema

from dal.stores import Stores
from dal.table.client import Table
from resolvers.request.context import Context, Viewer
from schema.build import build_schema
from tests.calls import calls_of

Answer = dict[str, Any]
Run = Callable[..., Awaitable[Answer]]

ANN = Viewer("ann")
BOB = Viewer("bob")
MODERATOR = Viewer("mo", frozenset({"moderator"}))
STAFF = Viewer("sam", frozenset({"staff"}))


@pytest.fixture(scope="session")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def run(schema: Schema, table: Table) -> Run:
    """Execute an operation; the answer has ``data`` and ``errors`` as a client sees them."""
    return runner(schema, Stores(table))


@pytest.fixture
def run_each(schema: Schema, each_table: Table) -> Run:
    """Execute operations as ``run`` does, on each engine in turn."""
    return runner(schema, Stores(each_table))


async def looks_missing(
    schema: Schema, table: Table, operation: str, viewer: Viewer | None, missing: Mapping[str, str]
) -> None:
    """See that what is there is answered as what is not, at the same cost; by ``missing``."""
    noted = Table(table._client, table.name)
    calls = calls_of(noted)
    run = runner(schema, Stores(noted))
    answer = await run(operation, viewer)
    asked = calls.operations
    calls.clear()
    for there, absent in missing.items():
        operation = operation.replace(there, absent)
    assert await run(operation, viewer) == answer
    assert calls.operations == asked


def runner(schema: Schema, stores: Stores) -> Run:
    """Return what executes operations over ``stores``."""

    async def run(
        operation: str,
        viewer: Viewer | None = None,
        *,
        explain: bool = False,
        **variables: object,
    ) -> Answer:
        context = Context(viewer, stores, explain)
        result = await schema.execute(operation, variables, context_value=context)
        errors = [error.formatted for error in result.errors or []]
        return {"data": result.data, "errors": errors}

    return run
