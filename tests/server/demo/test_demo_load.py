"""The demo's data is loaded while the server answers, and goes on after an interruption."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from dal.client.table import Table
from dal.errors import StoreUnavailableError
from dal.live.log import InProcessBroker
from dal.model import Comment
from dal.repositories.bulk_write import Outcome
from dal.repositories.comments import CommentRepository
from dal.stores import Stores
from server.demo.demo_data import DemoLoad, demo_comments, is_loaded
from server.serving import application
from server.settings import Settings

LOADING = "Loading demo data: {} of 5,000 comments."


@pytest.fixture(scope="module")
def some() -> list[Comment]:
    return demo_comments()[::20]


@dataclass
class Held:
    """The comments, fewer here and in two batches: ``begun`` tells of the first one's end."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, some: list[Comment]) -> Held:
    """A load whose second batch waits until it may ``go_on``."""
    held = Held()
    put_many = CommentRepository.put_many

    async def held_back(self: CommentRepository, comments: Sequence[Comment]) -> Outcome:
        if comments[0] is not some[0]:
            await held.go_on.wait()
        outcome = await put_many(self, comments)
        held.begun.set()
        return outcome

    monkeypatch.setattr("server.demo.demo_data._BATCH", 125)
    monkeypatch.setattr("server.demo.demo_data.demo_comments", lambda: some)
    monkeypatch.setattr(CommentRepository, "put_many", held_back)
    return held


async def until_loaded(load: DemoLoad, table: Table) -> None:
    async with asyncio.timeout(60):
        while load.progress() is not None:
            await is_loaded(Stores(table))


async def test_pages_are_there_while_it_is_loaded_and_say_how_far(
    table: Table, tmp_path: Path, held: Held
) -> None:
    load = DemoLoad(table)
    settings, broker = Settings(data_dir=tmp_path), InProcessBroker()
    async with (
        application(settings, table, lambda: None, broker, loading=load.progress) as app,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client,
    ):
        async with load.in_background():
            first = await client.get("/")
            assert first.status_code == 200
            assert LOADING.format(0) in first.text
            assert '<meta http-equiv="refresh"' in first.text
            assert '<progress value="0" max="5000"' in first.text
            assert "No product" not in first.text, "it is said of a shop that stays empty"
            await asyncio.wait_for(held.begun.wait(), 60)
            held.go_on.set()
            await until_loaded(load, table)
        whole = await client.get("/")
    assert "demo data" not in whole.text
    assert 'http-equiv="refresh"' not in whole.text
    assert 'href="/products/1"' in whole.text
    await table.drain()


async def test_what_was_interrupted_is_completed_by_the_next_start(
    table: Table, held: Held, some: list[Comment], capfd: pytest.CaptureFixture[str]
) -> None:
    stores = Stores(table)
    async with DemoLoad(table).in_background():
        await asyncio.wait_for(held.begun.wait(), 60)
    assert not await is_loaded(stores)
    assert await stores.comments.get(some[-1].comment_id) is None
    held.go_on.set()
    load = DemoLoad(table)
    async with load.in_background():
        assert load.progress() == (0, 5_000)
        await until_loaded(load, table)
    assert await is_loaded(stores)
    assert await stores.comments.get(some[-1].comment_id) == some[-1]
    said = "Demo data: loading 5,000 comments, orders and tickets."
    assert capfd.readouterr().err.splitlines() == [said, said, "Demo data: loaded."]
    async with DemoLoad(table).in_background():
        assert capfd.readouterr().err == ""


async def test_a_store_that_fails_is_a_line_of_the_log(
    table: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refused(*_: object) -> Outcome:
        raise StoreUnavailableError("The engine is gone.")

    monkeypatch.setattr(CommentRepository, "put_many", refused)
    load = DemoLoad(table)
    async with load.in_background():
        await until_loaded(load, table)
    assert caplog.messages == [
        "The demo data is not loaded, the next start goes on with it: The engine is gone."
    ]
