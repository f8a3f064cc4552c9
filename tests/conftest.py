"""Fixtures shared by all tests: real engines, a fresh table for each test, hypothesis profiles."""

import gc
import os
import signal
import time
import uuid
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from dal.analytics import service
from dal.client import gate, retries
from dal.client.table import Table, TableAddress, connect
from dal.errors import StoreRefusedError
from dal.maintenance.tables import create_table
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from schema.execution import documents
from tests.amazon import Amazon
from tests.engines import dynoxide, ministack
from tests.server.serving import Served, served

BROWSER = "tests/browser/"
LONG = (
    "tests/server/engine/test_kill.py",
    "tests/server/observability/test_servers.py",
    "tests/tools/bench/test_speed.py",
    "tests/server/test_loop_watchdog.py",
    "tests/server/test_brokers.py",
    "tests/server/workers/test_workers.py",
    "tests/server/workers/test_replacing.py",
    BROWSER,
    "tests/dal/stream/test_kills.py",
    "tests/server/exporter/test_round_trip.py",
    "tests/schema/execution/compiled/test_same_answers.py",
    "tests/tools/bench/test_cost.py",
    "tests/tools/bench/test_growth.py",
)
"""Modules that take seconds with few tests, and would begin last while the other process waits."""

AMAZON = ("tests/amazon/", "tests/dal/", "tests/integration/")
"""The tests that ``--amazon`` runs."""

BARE = ("tests/dal/client/test_wire.py", "tests/dal/stream/test_kills.py", "tests/dal/live/")
"""Two of them that it leaves out: one compares the wire with the SDK, and the other has processes
that reach the engine without Amazon's fake."""

# A shell that runs the tests in the background makes them ignore Ctrl-C, and also every process
# that they start. Some tests need Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A fixture's table serves all examples of a property: each example uses a different product.
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
settings.register_profile(
    "short", max_examples=60, deadline=None, suppress_health_check=_SHARED, derandomize=True
)
settings.register_profile("soak", max_examples=1000, deadline=None, suppress_health_check=_SHARED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Commands that tests run in this process close it to other users."""
    mask = os.umask(0o022)
    yield
    os.umask(mask)


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """On a busy machine, slow answers are neither repeated nor abandoned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "ATTEMPT_SECONDS", 30.0)
        patch.setattr(retries, "DEADLINE", 60.0)
        patch.setattr(service, "DEADLINE", 60.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_at_once() -> Iterator[None]:
    """Compile documents at once: tests send most documents once, and should see what servers do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "PLAINLY", 0)
        yield


@pytest.fixture(scope="session")
def dynoxide_url() -> Iterator[str]:
    with dynoxide() as url:
        yield url


@pytest.fixture(scope="session")
def ministack_url() -> Iterator[str]:
    with ministack() as url:
        yield url


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give the long hunts two hours, as `make soak` gives everything, also when run by hand.

    With ``--amazon``, select the tests of what reads and writes tables, on the fake's one engine.
    """
    if config.getoption("--amazon"):
        kept = [
            item
            for item in items
            if item.nodeid.startswith(AMAZON)
            and not item.nodeid.startswith(BARE)
            and "ministack_url" not in item.name
        ]
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept
    for item in items:
        if item.get_closest_marker("soak") is not None:
            item.add_marker(pytest.mark.timeout(7200))


def pytest_collection_finish() -> None:
    """Keep modules and items out of garbage collections, which otherwise take a second each."""
    gc.collect()
    gc.freeze()


class Scopes(LoadScopeScheduling):  # type: ignore[misc]
    """Keeps a module in one process, and all that share a browser: its server and it take long.

    A module with more tests is begun earlier, but for those that are long with few.
    """

    def schedule(self) -> None:
        super().schedule()
        for scope in LONG:
            if scope in self.workqueue:
                self.workqueue.move_to_end(scope, last=False)

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return BROWSER if scope.startswith(BROWSER) else scope


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use a process more than cores, four at most: tests wait for processes that they start."""
    return min(len(os.sched_getaffinity(0)) + 1, 4)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scopes | None:
    return Scopes(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_unconfigure() -> None:
    """Drop hypothesis' callback of the garbage collector, and return to it what was kept out.

    Both would outlive the interpreter's modules and DuckDB's, and print them as leaked.
    """
    gc.callbacks.clear()
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have recorded, such as how much they compared."""
    for report in terminalreporter.getreports(""):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.nodeid}: {name} {value}")


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A data directory that ``serve --demo`` has filled, once for all processes: for copies."""
    root = tmp_path_factory.getbasetemp()
    root = root if worker_id == "master" else root.parent
    data_dir, done = root / "demo", root / "demo.done"
    with FileLock(root / "demo.lock"):
        if not done.exists():
            with served(data_dir, "--demo") as server:
                assert _loaded(server)
                code, said = server.end()
                assert (code, said.splitlines()[-1]) == (0, "Demo data: loaded.")
            done.touch()
    return data_dir


def _loaded(server: Served) -> bool:
    """Wait until the pages no longer show that demo data is being loaded."""
    until = time.monotonic() + 120
    while "Loading demo data" in httpx.get(server.url, timeout=60).text:
        time.sleep(0.05)
        assert time.monotonic() < until
    return True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--amazon", action="store_true", help="put tests.amazon before dynoxide")


class Clients:
    """A client for each engine, opened for the first test that needs it."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._opened: dict[str, Any] = {}

    async def of(self, url: str) -> Any:
        if url not in self._opened:
            address = TableAddress("none", endpoint_url=url, embedded=True)
            table = await self._stack.enter_async_context(connect(address))
            self._opened[url] = table.service
        return self._opened[url]


@pytest.fixture(scope="session")
async def clients() -> AsyncIterator[Clients]:
    """The tables share a client: opening a client costs more CPU than most tests."""
    async with AsyncExitStack() as stack:
        yield Clients(stack)


class Tables:
    """The fresh tables of an engine, of which the latest alone are kept.

    To dynoxide a new table costs the more the more there are: with 400, eight times as much. What
    a test has left running has until then to end.
    """

    KEPT = 8

    def __init__(self, clients: Clients, *, amazon: bool) -> None:
        self._clients = clients
        self._amazon = amazon
        self._names: dict[str, deque[str]] = defaultdict(deque)

    async def fresh(self, url: str) -> Table:
        """Return a table on the engine at ``url``, and delete the one before the latest."""
        table = await fresh_table(self._clients, url, amazon=self._amazon)
        names = self._names[url]
        names.append(table.name)
        if len(names) > self.KEPT and not self._amazon:
            with suppress(StoreRefusedError):  # a test deletes its own
                await Table(await self._clients.of(url), names.popleft()).call("delete_table")
        return table


@pytest.fixture(scope="session")
def tables(clients: Clients, pytestconfig: pytest.Config) -> Tables:
    return Tables(clients, amazon=pytestconfig.getoption("--amazon"))


@pytest.fixture
async def table(tables: Tables, dynoxide_url: str) -> Table:
    """A fresh table on dynoxide."""
    return await tables.fresh(dynoxide_url)


@pytest.fixture(params=["dynoxide_url", "ministack_url"])
async def each_table(tables: Tables, request: pytest.FixtureRequest) -> Table:
    """A fresh table on each engine in turn."""
    return await tables.fresh(request.getfixturevalue(request.param))


@pytest.fixture
def stores(table: Table) -> Stores:
    return Stores(table)


@pytest.fixture
def comments(stores: Stores) -> CommentRepository:
    return stores.comments


async def fresh_table(clients: Clients, url: str, *, amazon: bool = False) -> Table:
    """Return a table of its own name, which holds nothing and is counted by its writers."""
    service = await clients.of(url)
    if amazon:
        service = Amazon.documented(service, settles_when_quiet=True)
    table = Table(service, f"test-{uuid.uuid4().hex}")
    await create_table(table)
    return table
