"""Fixtures shared by all tests: real engines, a fresh table for each test, hypothesis profiles."""

import gc
import os
import signal
import time
import uuid
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from botocore.loaders import JSONFileLoader
from filelock import FileLock
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from dal.dynamodb import gate, retries
from dal.dynamodb.table import Table, TableAddress, connect
from dal.maintenance.tables import create_table
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from schema.execution import documents
from tests.amazon import Amazon
from tests.engines import dynoxide, ministack
from tests.server.serving import Served, served

BROWSER = "tests/browser/"
LONG = (
    "tests/server/test_removed_data.py",
    "tests/server/local_engine/test_private_files.py",
    "tests/server/cli/test_long_running.py",
    "tests/server/cli/commands/test_table.py",
    "tests/features/loading/test_export.py",
    "tests/server/cli/commands/test_stats.py",
    "tests/features/trusted_documents/test_private_fields.py",
    "tests/amazon/test_service.py",
    "tests/integration/test_counts.py",
    "tests/deploy/test_permissions.py",
    "tests/server/test_deadline.py",
    "tests/dal/dynamodb/test_deadline.py",
    "tests/features/stream_counting/test_lambda_handler.py",
    "tests/test_linear_time.py",
    "tests/integration/test_walks.py",
    "tests/dal/maintenance/test_rebuild.py",
    "tests/features/stream_counting/test_rebuild.py",
    "tests/clients/test_clients.py",
    "tests/schema/execution/test_compiled.py",
    "tests/server/local_engine/test_backup.py",
    "tests/server/cli/commands/test_serve.py",
    "tests/docs/test_snippets.py",
    "tests/server/local_engine/test_kill.py",
    "tests/server/observability/test_servers.py",
    "tests/tools/bench/test_speed.py",
    "tests/tools/trials/test_figures.py",
    "tests/server/test_loop_watchdog.py",
    "tests/features/live/test_brokers.py",
    "tests/server/workers/test_workers.py",
    "tests/server/workers/test_replacing.py",
    BROWSER,
    "tests/features/loading/test_round_trip.py",
    "tests/features/stream_counting/test_kills.py",
    "tests/schema/execution/compiled/test_same_answers.py",
    "tests/tools/bench/test_cost.py",
    "tests/tools/bench/test_growth.py",
)
"""Modules that take many seconds with few tests. pytest-xdist would start them last, so they start
first, the last of this list before the others."""

AMAZON = (
    "tests/amazon/",
    "tests/dal/",
    "tests/features/groups/test_repository.py",
    "tests/features/one_per_person/test_one_per_person.py",
    "tests/features/photos/test_uploads.py",
    "tests/features/trusted_documents/test_repository.py",
    "tests/features/votes/test_folds.py",
    "tests/integration/",
)
"""The tests that ``--amazon`` runs."""

BARE = ("tests/dal/dynamodb/test_wire.py", "tests/features/stream_counting/test_kills.py")
"""Tests that ``--amazon`` does not run: one compares the wire with the SDK, and the other starts
processes that connect to the engine directly."""

# A shell that runs the tests in the background lets them, and their child processes, ignore Ctrl-C.
# Some tests need Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# All examples of a property share the fixture's table, and each example uses a different product.
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
settings.register_profile(
    "short", max_examples=60, deadline=None, suppress_health_check=_SHARED, derandomize=True
)
settings.register_profile("soak", max_examples=1000, deadline=None, suppress_health_check=_SHARED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Restore the umask after each test: commands that a test runs in this process change it."""
    mask = os.umask(0o022)
    yield
    os.umask(mask)


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Let requests wait longer, so that a busy machine does not cause retries and timeouts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "ATTEMPT_SECONDS", 30.0)
        patch.setattr(retries, "DEADLINE", 60.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_at_once() -> Iterator[None]:
    """Compile documents at their first execution, because tests send most documents only once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "PLAINLY", 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def models_read_once() -> Iterator[None]:
    """Parse each of botocore's files once: it would parse megabytes for each client."""
    read = cache(JSONFileLoader().load_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _, path: read(path))
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
    """Give long searches two hours.

    With ``--amazon``, select only the tests of reads and writes.
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


def pytest_collection() -> None:
    """Collect no garbage while modules are imported: there is little, and it takes seconds."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude modules and tests from garbage collections, which would otherwise take a second."""
    gc.freeze()
    gc.enable()


class Scopes(LoadScopeScheduling):  # type: ignore[misc]
    """Runs all tests of a module in one process, and all tests that share a browser in one process.

    Starting a browser and its server takes long. A module with more tests starts earlier, except
    the modules in ``LONG``.
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
    """Return the number of processes: one more than cores, at most four.

    Tests often wait for processes that they start.
    """
    return min(len(os.sched_getaffinity(0)) + 1, 4)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scopes | None:
    return Scopes(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_unconfigure() -> None:
    """Remove hypothesis' callback from the garbage collector, and let it collect all objects again.

    Otherwise both would outlive the modules of the interpreter and DuckDB, and would be reported as
    leaks.
    """
    gc.callbacks.clear()
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have recorded, such as the number of comparisons."""
    for report in terminalreporter.getreports(""):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.nodeid}: {name} {value}")


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a data directory with the demo data, to be copied. All processes share it."""
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
    """Return whether the pages no longer show that the demo data is being loaded."""
    until = time.monotonic() + 120
    while "Loading demo data" in httpx.get(server.url, timeout=60).text:
        time.sleep(0.05)
        assert time.monotonic() < until
    return True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--amazon", action="store_true", help="put tests.amazon before dynoxide")


class Clients:
    """Opens a client for each engine when the first test needs it."""

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
    """Yield the clients that all tables share: opening a client costs more CPU than most tests."""
    async with AsyncExitStack() as stack:
        yield Clients(stack)


class Tables:
    """Creates tables on an engine, and deletes all but the latest ones.

    Creating a table on dynoxide takes longer if there are more tables: with 400, eight times as
    long. Tasks that a test leaves running must end before its table is deleted.
    """

    KEPT = 8

    def __init__(self, clients: Clients, *, amazon: bool) -> None:
        self._clients = clients
        self._amazon = amazon
        self._names: dict[str, deque[str]] = defaultdict(deque)

    async def fresh(self, url: str) -> Table:
        """Return a new table on the engine at ``url``. Delete the table before the latest."""
        table = await fresh_table(self._clients, url, amazon=self._amazon)
        names = self._names[url]
        names.append(table.name)
        if len(names) > self.KEPT and not self._amazon:
            with suppress(StoreRefusedError):  # the test has deleted its table itself
                await Table(await self._clients.of(url), names.popleft()).call("delete_table")
        return table


@pytest.fixture(scope="session")
def tables(clients: Clients, pytestconfig: pytest.Config) -> Tables:
    return Tables(clients, amazon=pytestconfig.getoption("--amazon"))


@pytest.fixture
async def table(tables: Tables, dynoxide_url: str) -> Table:
    """Return a new table on dynoxide."""
    return await tables.fresh(dynoxide_url)


@pytest.fixture(params=["dynoxide_url", "ministack_url"])
async def each_table(tables: Tables, request: pytest.FixtureRequest) -> Table:
    """Return a new table; the test runs once on each engine."""
    return await tables.fresh(request.getfixturevalue(request.param))


@pytest.fixture
def stores(table: Table) -> Stores:
    return Stores(table)


@pytest.fixture
def comments(stores: Stores) -> CommentRepository:
    return stores.comments


async def fresh_table(clients: Clients, url: str, *, amazon: bool = False) -> Table:
    """Return an empty table with its own name, in mode transactional."""
    service = await clients.of(url)
    if amazon:
        service = Amazon.documented(service, settles_when_quiet=True)
    table = Table(service, f"test-{uuid.uuid4().hex}")
    await create_table(table)
    return table
