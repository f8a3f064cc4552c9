"""Liveness, and readiness with stores that fail."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from dal.dynamodb.errors import StoreDamagedError, StoreFullError, StoreUnavailableError
from dal.dynamodb.table import Table, TableAddress, connect
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.health import probe
from server.local_engine.data_directory import DataDirectory
from server.local_engine.engine import embedded_engine
from server.local_engine.storage import open_store
from server.services import services_of
from server.settings import Settings
from tests.conftest import Clients
from tests.fakes import FaultyClient, client_error, refuse
from tests.server.embedded import fill, mounted, refusal

OK = (200, {"status": "ok"})


@asynccontextmanager
async def client_of(
    table: Table, directory: DataDirectory | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    authenticator = Authenticator(secret=lambda: None)
    settings = Settings()
    services = replace(services_of(settings, table, authenticator), directory=directory)
    app = create_app(settings, services)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def asked(client: httpx.AsyncClient, path: str) -> tuple[int, Any]:
    response = await client.get(path)
    return response.status_code, response.json()


async def unready(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> str:
    """Check that a server is live but not ready. Return the reason in its log."""
    assert await asked(client, "/health/live") == OK
    status, body = await asked(client, "/health/ready")
    assert (status, body["errors"][0]["extensions"]["code"]) == (503, "UNAVAILABLE")
    assert await asked(client, "/health") == (503, body)
    (*_, line) = lines_of(caplog)
    return line


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log lines of the health checks."""
    return [record.getMessage() for record in caplog.records if record.name == "server.health"]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the store at each probe, without a cached result."""
    monkeypatch.setattr("server.health.GOOD_FOR", 0.0)


async def test_a_server_whose_store_can_be_read_is_ready(table: Table) -> None:
    async with client_of(table) as client:
        for path in ("/health", "/health/ready", "/health/live"):
            assert await asked(client, path) == OK


async def test_concurrent_probes_share_one_read(table: Table) -> None:
    service = FaultyClient(table.service)
    async with client_of(Table(service, table.name)) as client:
        answers = await asyncio.gather(*(asked(client, "/health/ready") for _ in range(20)))
        assert await asked(client, "/health/live") == OK
    assert answers == [OK] * 20
    assert [operation for operation, _ in service.calls] == ["get_item"]


async def test_a_server_with_throttled_reads_and_writes_is_ready(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a load balancer would remove every server, although pages can still be read."""
    monkeypatch.setattr("server.health.DEADLINE", 0.2)
    service = FaultyClient(table.service, *[refuse(client_error("ThrottlingException"))] * 100)
    async with client_of(Table(service, table.name)) as client:
        assert await asked(client, "/health/ready") == OK
    assert service.calls


@pytest.mark.usefixtures("no_waiting")
async def test_an_unready_state_and_its_end_are_logged_once(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    denied = refuse(client_error("AccessDeniedException"))
    service = FaultyClient(table.service, denied, denied)
    async with client_of(Table(service, table.name)) as client:
        said = await unready(client, caplog)
        for _ in range(2):
            assert await asked(client, "/health/ready") == OK
    assert "AccessDenied" in said
    first, again = lines_of(caplog)
    assert first == said
    assert "again" in again


async def test_an_idle_server_notices_the_end_of_an_outage(table: Table) -> None:
    """Otherwise the alert of an open circuit would ring until a client sends a request."""
    away = refuse(StoreUnavailableError("away"))
    table.service = FaultyClient(table.service, away)
    table._gate.breaker._next_probe = 0.0
    probes = asyncio.create_task(probe(table))
    async with asyncio.timeout(60):
        while table.circuit_open:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    probes.cancel()
    assert [operation for operation, _ in table.service.calls] == ["get_item"] * 2


async def test_a_server_without_its_table_is_not_ready(
    clients: Clients, dynoxide_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with client_of(Table(await clients.of(dynoxide_url), "absent")) as client:
        assert "`marginalia table create`" in await unready(client, caplog)


async def test_a_server_whose_store_does_not_respond_is_not_ready(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.health.DEADLINE", 1.0)
    nowhere = TableAddress(endpoint_url="http://127.0.0.1:9", embedded=True)
    async with connect(nowhere) as table, client_of(table) as client:
        assert "http://127.0.0.1:9" in await unready(client, caplog)


@pytest.mark.usefixtures("no_waiting")
async def test_a_server_with_a_full_disk_is_ready_because_it_serves_reads(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=24m") as data_dir:
        async with (
            open_store(Settings(data_dir=data_dir), share=False) as store,
            client_of(store.table, store.directory) as client,
        ):
            await asyncio.to_thread(fill, data_dir / "ballast")
            with pytest.raises(StoreFullError):
                await store.table.put_many(ITEMS)
            assert await asked(client, "/health/ready") == OK


@pytest.mark.usefixtures("no_waiting")
async def test_a_server_whose_write_ahead_log_was_removed_is_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The removed log contains acknowledged writes that the data file does not contain yet."""
    settings, left = Settings(data_dir=tmp_path / "live"), tmp_path / "left"
    async with open_store(settings, share=False):
        pass
    async with (
        open_store(settings, share=False) as store,
        client_of(store.table, store.directory) as client,
    ):
        assert await asked(client, "/health/ready") == OK
        shutil.copytree(settings.data_dir, left)  # the files that a killed server leaves
        (settings.data_dir / "marginalia.db-wal").unlink()
        assert "marginalia.db-wal is missing" in await unready(client, caplog)
    # After a normal stop, the data file is complete.
    async with embedded_engine(settings.data_dir, share=False):
        pass
    (left / "marginalia.db-wal").unlink()
    assert "marginalia.db-wal is missing" in await refusal(left)
    (left / "engine.json").unlink()
    async with embedded_engine(left, share=False):
        pass


ITEMS = [
    {"PK": {"S": f"{number}"}, "SK": {"S": f"{number}"}, "text": {"S": "x" * 20_000}}
    for number in range(250)
]


@pytest.mark.usefixtures("no_waiting")
async def test_a_server_is_not_ready_after_a_request_finds_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        open_store(Settings(data_dir=tmp_path), share=False) as store,
        client_of(store.table, store.directory) as client,
    ):
        await store.table.put_many(ITEMS)
        assert await asked(client, "/health/ready") == OK
        database = tmp_path / "marginalia.db"
        size = database.stat().st_size
        with database.open("r+b") as file:
            file.seek(size // 4)
            file.write(b"\xa5" * (size // 2))
        for _ in range(2):
            with pytest.raises(StoreDamagedError):
                await store.table.scan(0, 1, None)
        said = await unready(client, caplog)
        assert "damaged" in said
        assert "`marginalia restore`" in said
    critical = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert len(critical) == 1
    assert critical[0] in said


@pytest.mark.usefixtures("no_waiting")
async def test_a_server_whose_data_file_was_removed_is_not_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        open_store(Settings(data_dir=tmp_path / "data"), share=False) as store,
        client_of(store.table, store.directory) as client,
    ):
        database = tmp_path / "data/marginalia.db"
        database.unlink()
        said = await unready(client, caplog)
        assert f"{database} is missing" in said
        database.touch()
        said = await unready(client, caplog)
        assert f"{database} is empty" in said
