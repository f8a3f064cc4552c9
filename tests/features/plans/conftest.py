"""Runs operations on the schema of a server with plans."""

from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.plans.resolvers import TRACED
from resolvers.context import Context, Viewer
from resolvers.selection import ObservedPages
from tests.schema.conftest import Answer, Run, explaining


@pytest.fixture
def run(table: Table) -> Run:
    """A function that executes an operation and returns its ``data`` and ``errors``."""
    return runner(Stores(table))


def runner(stores: Stores) -> Run:
    """Return a function that executes an operation and returns its ``data`` and ``errors``."""

    async def run(operation: str, viewer: Viewer | None = None, **variables: Any) -> Answer:
        context = Context(viewer, stores, services={ObservedPages: TRACED})
        result = await explaining().execute(operation, variables, context_value=context)
        errors = [error.formatted for error in result.errors or []]
        return {"data": result.data, "errors": errors}

    return run
