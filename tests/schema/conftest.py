"""Runs operations on the real schema over a real engine."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import pytest
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.stores import Stores
from resolvers.context import Context, Grant, Viewer
from resolvers.selection import ObservedPages
from schema.build import build_schema
from tests.calls import calls_of
from tests.dal.read_pages import ReadPages
from tests.feature_lists import merged
from tests.schema.unexplained_nulls import unexplained_nulls

Answer = dict[str, Any]
Run = Callable[..., Awaitable[Answer]]

ANN = Viewer("ann")
BOB = Viewer("bob")
MERCHANT = Viewer("mia", frozenset({"merchant"}))
MODERATOR = Viewer("mo", frozenset({"moderator"}))
STAFF = Viewer("sam", frozenset({"staff"}))

Who: TypeAlias = Viewer | Grant | None
"""The sender of a request: a user, a visitor with a grant, or an anonymous visitor."""

SERVICES = merged(dict[type[Any], Any](), "SERVICES")
"""What the resolvers of features find in ``Context.services``."""


@pytest.fixture(scope="session")
def schema() -> Schema:
    return build_schema()


@pytest.fixture
def run(schema: Schema, table: Table) -> Run:
    """A function that executes an operation and returns its ``data`` and ``errors``."""
    return runner(schema, Stores(table))


@pytest.fixture
def run_each(schema: Schema, each_table: Table) -> Run:
    """Like ``run``, on each engine in turn."""
    return runner(schema, Stores(each_table))


def context_of(who: Who, stores: Stores, **others: Any) -> Context:
    """Return the context of a request."""
    if who is None or isinstance(who, Viewer):
        return Context(who, stores, **others)
    return Context(None, stores, grant=who, **others)


async def looks_missing(
    schema: Schema, table: Table, operation: str, who: Who, missing: Mapping[str, str]
) -> None:
    """Check that a hidden object and a missing one have the same result, cost and requests.

    ``missing`` maps ids of the operation to ids of missing objects. Staff see the cost of every
    operation.
    """
    noted = Table(table.service, table.name)
    await noted.id()  # otherwise only the first operation would read the table's id
    calls = calls_of(noted)

    async def answer(text: str) -> tuple[object, ...]:
        calls.clear()
        context = context_of(who, Stores(noted), explain=True, services=SERVICES)
        found = await schema.execute(
            text, context_value=context, operation_extensions={"cost": True}
        )
        assert "cost" in (found.extensions or {}) or who is not STAFF
        errors = [error.formatted for error in found.errors or []]
        return found.data, errors, found.extensions, [*calls.operations]

    other = operation
    for there, absent in missing.items():
        other = other.replace(there, absent)
    assert await answer(other) == await answer(operation)


@cache
def explaining() -> Schema:
    """Return the schema of a server with ``--explain``."""
    return build_schema(explain=True)


def runner(schema: Schema, stores: Stores) -> Run:
    """Return a function that executes an operation and returns its ``data`` and ``errors``.

    The function adds to ``pages`` how each page of a list was read.
    """

    async def run(
        operation: str,
        viewer: Who = None,
        *,
        pages: ReadPages | None = None,
        **variables: object,
    ) -> Answer:
        services = dict(SERVICES)
        if pages is not None:
            services[ObservedPages] = ObservedPages((("nodes",), ("pageInfo",)), pages.add)
        context = context_of(viewer, stores, services=services)
        result = await schema.execute(operation, variables, context_value=context)
        errors = [error.formatted for error in result.errors or []]
        answer = {"data": result.data, "errors": errors}
        assert unexplained_nulls(schema._schema, operation, answer) == []
        return answer

    return run
