"""Both analytics stores, new for each test. ClickHouse needs Debian's server."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from features.analytics import service
from features.analytics.clickhouse_store import ClickHouseStore
from features.analytics.duckdb_store import DuckDBStore
from features.analytics.store import AnalyticsStore
from tests.engines import CLICKHOUSE, clickhouse
from tests.server.auth.conftest import serve_body  # noqa: F401 - a fixture


@pytest.fixture(scope="session", autouse=True)
def patience_with_answers() -> Iterator[None]:
    """Let questions wait longer, so that a busy machine does not cause timeouts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "DEADLINE", 60.0)
        yield


@pytest.fixture(scope="session")
def clickhouse_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if CLICKHOUSE is None:
        pytest.skip("clickhouse-server is not installed: apt-get install clickhouse-server")
    with clickhouse(tmp_path_factory.mktemp("clickhouse")) as url:
        yield url


@pytest.fixture
async def duckdb_store(tmp_path: Path) -> AsyncIterator[DuckDBStore]:
    store = DuckDBStore(tmp_path / "an 'odd' name")
    yield store
    await store.aclose()


@pytest.fixture
async def clickhouse_store(clickhouse_url: str) -> AsyncIterator[ClickHouseStore]:
    store = ClickHouseStore(clickhouse_url, f"test-{uuid.uuid4().hex}")
    yield store
    await store.aclose()


@pytest.fixture(params=["duckdb_store", "clickhouse_store"])
def store(request: pytest.FixtureRequest) -> AnalyticsStore:
    found: AnalyticsStore = request.getfixturevalue(request.param)
    return found
