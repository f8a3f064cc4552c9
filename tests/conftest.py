"""Fixtures shared by all tests: real engines, a fresh table for each test, hypothesis profiles."""

import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, settings

from dal.comments import CommentStore
from dal.counting import create_counted
from dal.dynamodb import Connection, Table, connect
from dal.stores import Stores
from tests.engines import dynoxide, ministack

# A shell that runs the tests in the background makes them ignore Ctrl-C, and so would every process
# that they start; some are tested by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A fixture's table serves all examples of a property: each example takes a product of its own.
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
settings.register_profile(
    "short", max_examples=60, deadline=None, suppress_health_check=_SHARED, derandomize=True
)
settings.register_profile("soak", max_examples=1000, deadline=None, suppress_health_check=_SHARED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


@pytest.fixture(scope="session")
def dynoxide_url() -> Iterator[str]:
    with dynoxide() as url:
        yield url


@pytest.fixture(scope="session")
def ministack_url() -> Iterator[str]:
    with ministack() as url:
        yield url


@pytest.fixture
async def table(dynoxide_url: str) -> AsyncIterator[Table]:
    """A fresh table on dynoxide."""
    async with _fresh_table(dynoxide_url) as opened:
        yield opened


@pytest.fixture(params=["dynoxide_url", "ministack_url"])
async def each_table(request: pytest.FixtureRequest) -> AsyncIterator[Table]:
    """A fresh table on each engine in turn."""
    async with _fresh_table(request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture
def stores(table: Table) -> Stores:
    return Stores.of(table)


@pytest.fixture
def comments(stores: Stores) -> CommentStore:
    return stores.comments


@asynccontextmanager
async def _fresh_table(url: str) -> AsyncIterator[Table]:
    name = f"test-{uuid.uuid4().hex}"
    async with connect(Connection(name, endpoint_url=url, embedded=True)) as opened:
        await create_counted(opened)
        yield opened
