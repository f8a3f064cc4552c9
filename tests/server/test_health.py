"""Liveness, and readiness of stores that fail in one way or another."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dal.client.table import Table, TableAddress, connect
from dal.errors import StoreDamagedError
from dal.repositories.documents import MarkerRepository
from server.app import create_app
from server.auth.authenticator import Authenticator
from server.engine.data_directory import DataDirectory
from server.engine.engine import embedded_engine
from server.engine.storage import open_store
from server.settings import Settings
from tests.conftest import Clients
from tests.server.embedded import fill, mounted, refusal

OK = (200, {"status": "ok"})


@asynccontextmanager
async def client_of(
    table: Table, directory: DataDirectory | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    authenticator = Authenticator(secret=lambda: None)
    app = create_app(Settings(), table=table, directory=directory, authenticator=authenticator)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def asked(client: httpx.AsyncClient, path: str) -> tuple[int, Any]:
    response = await client.get(path)
    return response.status_code, response.json()


async def unready(client: httpx.AsyncClient) -> str:
    """Return the sentence with which a server is not ready, though it lives."""
    assert await asked(client, "/health/live") == OK
    status, body = await asked(client, "/health/ready")
    assert (status, body["errors"][0]["extensions"]["code"]) == (503, "UNAVAILABLE")
    assert await asked(client, "/health") == (503, body)
    return str(body["errors"][0]["message"])


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the store at each probe."""
    monkeypatch.setattr("server.health.GOOD_FOR", 0.0)


async def test_a_store_that_can_be_read_and_written_is_ready(table: Table) -> None:
    async with client_of(table) as client:
        for path in ("/health", "/health/ready", "/health/live"):
            assert await asked(client, path) == OK


async def test_many_probes_are_one_write(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    mark = MarkerRepository.mark

    async def noted(markers: MarkerRepository, name: str) -> None:
        written.append(name)
        await mark(markers, name)

    monkeypatch.setattr(MarkerRepository, "mark", noted)
    async with client_of(table) as client:
        answers = await asyncio.gather(*(asked(client, "/health/ready") for _ in range(20)))
        assert await asked(client, "/health/live") == OK
    assert answers == [OK] * 20
    assert written == ["health"]


async def test_no_table_is_not_ready(clients: Clients, dynoxide_url: str) -> None:
    async with client_of(Table(await clients.of(dynoxide_url), "absent")) as client:
        assert "run `marginalia table create`" in await unready(client)


async def test_no_answer_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.health.DEADLINE", 1.0)
    nowhere = TableAddress(endpoint_url="http://127.0.0.1:9", embedded=True)
    async with connect(nowhere) as table, client_of(table) as client:
        assert "DynamoDB does not answer at http://127.0.0.1:9" in await unready(client)


@pytest.mark.usefixtures("no_waiting")
async def test_a_full_disk_is_not_ready_until_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with mounted(tmp_path / "disk", "size=24m") as data_dir:
        async with (
            open_store(Settings(data_dir=data_dir), share=False) as store,
            client_of(store.table, store.directory) as client,
        ):
            assert await asked(client, "/health/ready") == OK
            await asyncio.to_thread(fill, data_dir / "ballast")
            said = "The disk is full: make room, then try again."
            assert await unready(client) == said
            (data_dir / "ballast").unlink()
            assert await asked(client, "/health/ready") == OK
    assert [record.getMessage() for record in caplog.records if "can" in record.msg] == [
        f"The store cannot be used: {said}",
        "The store can be used again.",
    ]


@pytest.mark.usefixtures("no_waiting")
async def test_a_log_that_was_removed_is_not_ready_and_refused_after_a_kill(tmp_path: Path) -> None:
    """What it held is acknowledged, and not in the data file yet."""
    settings, left = Settings(data_dir=tmp_path / "live"), tmp_path / "left"
    async with open_store(settings, share=False):
        pass
    async with (
        open_store(settings, share=False) as store,
        client_of(store.table, store.directory) as client,
    ):
        assert await asked(client, "/health/ready") == OK
        shutil.copytree(settings.data_dir, left)  # as a kill leaves it
        (settings.data_dir / "marginalia.db-wal").unlink()
        assert "marginalia.db-wal is gone" in await unready(client)
    async with embedded_engine(settings.data_dir, share=False):  # it was stopped in good order
        pass
    (left / "marginalia.db-wal").unlink()
    assert "marginalia.db-wal is gone" in await refusal(left)
    (left / "engine.json").unlink()
    async with embedded_engine(left, share=False):
        pass


ITEMS = [
    {"PK": {"S": f"{number}"}, "SK": {"S": f"{number}"}, "text": {"S": "x" * 20_000}}
    for number in range(250)
]


@pytest.mark.usefixtures("no_waiting")
async def test_damage_that_a_request_meets_is_not_ready_any_more(
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
        said = "stop the server and restore a backup with `marginalia restore`."
        assert await unready(client) == f"The data file is damaged: {said}"
    critical = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert critical == [f"The data file is damaged: {said}"]


@pytest.mark.usefixtures("no_waiting")
async def test_a_data_file_that_is_taken_away_is_not_ready(tmp_path: Path) -> None:
    async with (
        open_store(Settings(data_dir=tmp_path / "data"), share=False) as store,
        client_of(store.table, store.directory) as client,
    ):
        database = tmp_path / "data/marginalia.db"
        database.unlink()
        assert f"The data file {database} is gone, but it held data" in await unready(client)
        database.touch()
        assert f"The data file {database} is empty, but it held data" in await unready(client)
