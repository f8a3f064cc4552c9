"""Answers that cannot be right are not believed: the same request is sent again."""

import json
from collections.abc import AsyncIterator

import pytest

from dal import errors
from dal.client import retries
from dal.client.table import Table
from dal.table.index import TABLE, QueryRequest
from dal.table.items import Item
from tests.proxy import Proxy, Spoil, through_proxy

SPOILT: dict[str, Spoil] = {
    "an empty object": lambda _: b"{}",
    "nothing": lambda _: b"",
    "a page of HTML": lambda _: b"<html>Sign in to the network</html>",
    "a list": lambda _: b"[]",
    "half": lambda told: told[: len(told) // 2],
    "another value": lambda told: told.replace(b"kept", b"lost") + b" ",
}


def item(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": "s"}, "data": {"S": "kept"}}


@pytest.fixture
async def opened(each_table: Table) -> AsyncIterator[tuple[Table, Proxy]]:
    async with through_proxy(each_table) as both:
        yield both


@pytest.fixture
def proxy(opened: tuple[Table, Proxy]) -> Proxy:
    return opened[1]


@pytest.fixture
def beyond(opened: tuple[Table, Proxy]) -> Table:
    """The table, as a client sees it that asks through the proxy."""
    return opened[0]


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
async def test_a_spoilt_answer_is_asked_for_again(
    proxy: Proxy, beyond: Table, spoil: Spoil
) -> None:
    await beyond.put_many([item("a")])
    operations = ("GetItem", "BatchGetItem", "Query", "Scan")
    proxy.spoils = {operation: [spoil, spoil] for operation in operations}
    key = {"PK": {"S": "a"}, "SK": {"S": "s"}}
    assert await beyond.get(key) == item("a")
    assert await beyond.get_many([key]) == [item("a")]
    request = QueryRequest(TABLE, "a")
    assert list((await beyond.query(request)).items) == [item("a")]
    assert item("a") in (await beyond.scan(0, 1, None)).items
    assert not any(proxy.spoils.values())


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
async def test_a_write_with_a_spoilt_answer_is_done_once_under_one_token(
    proxy: Proxy, beyond: Table, spoil: Spoil
) -> None:
    proxy.spoils = {"TransactWriteItems": [spoil, spoil]}
    add = {
        "Key": {"PK": {"S": "n"}, "SK": {"S": "s"}},
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    await beyond.write([{"Update": add}])
    written = [
        json.loads(body) for operation, body in proxy.seen if operation == "TransactWriteItems"
    ]
    assert len(written) == 3
    assert len({one["ClientRequestToken"] for one in written}) == 1
    assert ((await beyond.get(add["Key"])) or {})["n"] == {"N": "1"}  # type: ignore[arg-type]


async def test_a_store_that_says_nothing_sensible_is_unavailable(
    proxy: Proxy, beyond: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beyond.get({"PK": {"S": "a"}, "SK": {"S": "s"}})  # the first call also connects
    monkeypatch.setattr(retries, "DEADLINE", 0.3)
    proxy.spoils = {"GetItem": [SPOILT["an empty object"]] * 1_000}
    with pytest.raises(errors.StoreUnavailableError, match="Malformed response"):
        await beyond.get({"PK": {"S": "a"}, "SK": {"S": "s"}})
