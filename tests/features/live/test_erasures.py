"""An erasure of a user's data reaches the logs of running servers."""

import asyncio

import pytest

from dal.composition import KINDS
from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.table import Table
from dal.repositories import erasures
from dal.repositories.comments import Selection
from dal.stores import Stores
from features.live.changes import Change, CommentEventKind
from features.live.write_rule import Broker
from features.privacy.erasure import Choices, Erasure
from tests import strategies
from tests.features.live.listening import waiting
from tests.writers import ignore


async def test_a_running_server_forgets_the_texts_of_an_erased_user(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasures, "LOOK_SECONDS", 0.01)
    broker = Broker()
    stores, told = Stores(table, [broker]), asyncio.Event()
    one = strategies.comment("one", product_id="42", username="zoe", text="secret")
    await stores.comments.add(one)
    start = broker.log.last._replace(number=0)
    listener = broker.log.listen(Selection("42"), None)
    failures = [StoreUnavailableError("The table cannot be reached.")]
    get = table.get

    async def failing(key: object) -> object:
        if failures:
            raise failures.pop()
        return await get(key)  # type: ignore[arg-type]

    async def wait() -> None:
        """Wait until the server has read the announcement, if there is one."""
        if await get(erasures._KEY) is not None:
            async with asyncio.timeout(60):
                while broker.log.last.epoch == start.epoch:  # noqa: ASYNC110 - has no event
                    await asyncio.sleep(0.005)
            told.set()

    monkeypatch.setattr(table, "get", failing)
    watching = asyncio.create_task(erasures.watch(table, broker.erased))
    try:
        while failures:  # noqa: ASYNC110 - has no event
            await asyncio.sleep(0.005)
        await Erasure(table, "zoe", Choices(), KINDS).run(wait, ignore, ignore)
        assert told.is_set()
        await asyncio.sleep(0.05)
        events = [
            *await waiting(listener),
            *await waiting(broker.log.listen(Selection("42"), start)),
        ]
    finally:
        watching.cancel()
    assert [event.kind for event in events] == [CommentEventKind.RELOAD] * 2
    assert not any(isinstance(entry, Change) for _, entry in broker.log._entries)
