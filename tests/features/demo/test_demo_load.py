"""The demo data loads while the server answers; an interrupted load is completed later."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from dal.dynamodb import retries
from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.table import Table
from dal.model import Comment
from dal.stores import Stores
from dal.writes.overwrite import Outcome
from features.demo.demo_data import DemoLoad, demo_comments
from features.loading.bulk_write import BulkWriter
from server.serving import open_application
from server.settings import Settings
from tests.fakes import FaultyClient, refuse
from tests.features.demo.loads import demo_load

LOADING = "Loading demo data: {} of 5,010 comments."


@pytest.fixture(scope="module")
def some() -> list[Comment]:
    return demo_comments()[::20]


@dataclass
class Held:
    """The state of a load in two batches.

    ``begun``: the first is stored. ``go_on``: the second may start.
    """

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, some: list[Comment]) -> Held:
    """Make the load's second batch wait for ``go_on``."""
    held = Held()
    put = BulkWriter.put

    async def held_back(self: BulkWriter, comments: Sequence[Comment]) -> Outcome:
        if comments[0] is not some[0]:
            await held.go_on.wait()
        outcome = await put(self, comments)
        held.begun.set()
        return outcome

    monkeypatch.setattr("features.demo.demo_data._BATCH", 125)
    monkeypatch.setattr("features.demo.demo_data.demo_rows", lambda: some)
    monkeypatch.setattr(BulkWriter, "put", held_back)
    return held


async def until_loaded(load: DemoLoad) -> None:
    async with asyncio.timeout(60):
        while load.progress() is not None:
            await load.is_complete()


async def test_pages_show_the_progress_of_the_load(
    table: Table, tmp_path: Path, held: Held
) -> None:
    load = demo_load(table)
    settings = Settings(data_dir=tmp_path)
    async with (
        open_application(settings, table, lambda: None, load.progress) as app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
    ):
        async with load.in_background():
            first = await client.get("/")
            assert first.status_code == 200
            assert LOADING.format(0) in first.text
            assert '<meta http-equiv="refresh"' in first.text
            assert '<progress value="0" max="5010"' in first.text
            assert "No product" not in first.text, "only a shop that stays empty shows it"
            await asyncio.wait_for(held.begun.wait(), 60)
            held.go_on.set()
            await until_loaded(load)
        whole = await client.get("/")
    assert "demo data" not in whole.text
    assert 'http-equiv="refresh"' not in whole.text
    assert 'href="/products/1"' in whole.text
    await table.drain()


async def test_the_next_start_completes_an_interrupted_load(
    table: Table, held: Held, some: list[Comment], capfd: pytest.CaptureFixture[str]
) -> None:
    stores = Stores(table)
    async with demo_load(table).in_background():
        await asyncio.wait_for(held.begun.wait(), 60)
    assert not await demo_load(table).is_complete()
    assert await stores.comments.get(some[-1].comment_id) is None
    held.go_on.set()
    load = demo_load(table)
    async with load.in_background():
        assert load.progress() == (0, 5_010)
        await until_loaded(load)
    assert await load.is_complete()
    assert await stores.comments.get(some[-1].comment_id) == some[-1]
    first, second, last = capfd.readouterr().err.splitlines()
    assert first.startswith("Demo data: loading 5,010 comments")
    assert (second, last) == (first, "Demo data: loaded.")
    async with demo_load(table).in_background():
        assert capfd.readouterr().err == ""


async def test_the_load_waits_for_an_unreachable_store(
    table: Table, held: Held, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    held.go_on.set()
    client = FaultyClient(table.service)
    said = ""
    async with demo_load(Table(client, table.name)).in_background() as loading:
        with monkeypatch.context() as brief:
            brief.setattr(retries, "DEADLINE", 0.1)
            brief.setattr(retries, "REPORT_SECONDS", 0.2)
            client._faults += [refuse(StoreUnavailableError("The engine is away."))] * 1000
            waits = r"Demo data: .* \d+ s\. The engine is away\."
            while not re.search(waits, said):
                assert not loading.done()
                await asyncio.sleep(0.01)
                said += capfd.readouterr().err
            client._faults.clear()
        await loading
    assert await demo_load(table).is_complete()


async def test_a_failing_store_is_logged_in_one_line(
    table: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refused(*_: object) -> Outcome:
        raise StoreUnavailableError("The engine is gone.")

    monkeypatch.setattr(BulkWriter, "put", refused)
    load = demo_load(table)
    async with load.in_background():
        await until_loaded(load)
    (message,) = caplog.messages
    assert message.endswith("The engine is gone.")
