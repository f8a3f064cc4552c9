"""Responses without the consumed capacity, from an endpoint that has reported it before."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dal.dynamodb.errors import StoreUnavailableError
from dal.dynamodb.responses import Responses
from dal.dynamodb.table import Table, TableAddress, connect
from dal.maintenance.tables import create_table
from dal.table.index import TABLE, QueryRequest, query_arguments
from dal.table.items import Item
from server.local_engine.storage import open_table
from server.settings import Settings
from tests.dal.dynamodb.ways import ABSENT, TOTAL, ways
from tests.engines.alternator import bare
from tests.proxy import Proxy, always, answer, in_turn, proxy_of

HTML = b"<html>Sign in to the network</html>"
NEW: Item = {"PK": {"S": "new"}, "SK": {"S": "new"}}


@pytest.fixture
async def behind(
    dynoxide_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Table, Proxy]]:
    """A table behind a proxy, opened as by ``--endpoint-url``. It has seen no capacity yet."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "local")
    name = f"test-{uuid.uuid4().hex}"
    async with connect(TableAddress(name, dynoxide_url)) as table:
        await create_table(table)
    async with (
        proxy_of(dynoxide_url) as proxy,
        connect(TableAddress(name, proxy.url)) as table,
    ):
        yield table, proxy


def operations(table: str) -> dict[str, dict[str, Any]]:
    """Return the arguments of each operation that reads or writes items."""
    name = {"TableName": table, **TOTAL}
    return {
        "query": name | query_arguments(QueryRequest(TABLE, "nobody")),
        "scan": name,
        "get_item": name | {"Key": ABSENT},
        "batch_get_item": {"RequestItems": {table: {"Keys": [ABSENT]}}, **TOTAL},
        "put_item": name | {"Item": ABSENT},
        "update_item": name | {"Key": ABSENT},
        "delete_item": name | {"Key": ABSENT},
        "transact_write_items": {
            "TransactItems": [{"Put": {"TableName": table, "Item": ABSENT}}],
            **TOTAL,
        },
        "batch_write_item": {
            "RequestItems": {table: [{"PutRequest": {"Item": ABSENT}}]},
            **TOTAL,
        },
    }


async def refused(table: Table) -> list[set[str]]:
    """Return the operations whose responses the wire and the SDK refuse."""
    found: list[set[str]] = []
    for way in ways(table):
        found.append(set())
        for operation, arguments in operations(table.name).items():
            try:
                await way.call(operation, arguments)
            except StoreUnavailableError:
                found[-1].add(operation)
    return found


@pytest.mark.parametrize("body", [b"{}", b"", HTML], ids=["empty object", "empty", "HTML"])
@pytest.mark.parametrize("teacher", [0, 1], ids=["wire", "sdk"])
@pytest.mark.parametrize("first", ["query", "get_item", "transact_write_items"])
async def test_empty_responses_are_refused_by_both_clients_after_one_with_capacity(
    behind: tuple[Table, Proxy], first: str, teacher: int, body: bytes
) -> None:
    table, proxy = behind
    await ways(table)[teacher].call(first, operations(table.name)[first])
    proxy.choose = always(answer(200, body))
    everything = set(operations(table.name))
    assert await refused(table) == [everything, everything]


async def test_a_start_learns_whether_the_endpoint_reports_capacity(
    behind: tuple[Table, Proxy],
) -> None:
    settings = Settings(endpoint_url=behind[1].url, table=behind[0].name)
    async with open_table(settings, share=False) as table:
        behind[1].choose = always(answer(200, b"{}"))
        everything = set(operations(table.name))
        assert await refused(table) == [everything, everything]


@pytest.mark.parametrize("body", [b"", HTML], ids=["empty", "HTML"])
async def test_responses_without_json_are_refused_before_one_with_capacity(
    behind: tuple[Table, Proxy], body: bytes
) -> None:
    table, proxy = behind
    proxy.choose = always(answer(200, body))
    everything = set(operations(table.name))
    assert await refused(table) == [everything, everything]


async def test_an_empty_object_is_accepted_only_where_an_endpoint_without_capacity_sends_it(
    behind: tuple[Table, Proxy],
) -> None:
    table, proxy = behind
    proxy.choose = always(answer(200, b"{}"))
    required = {"query", "scan", "batch_get_item", "batch_write_item"}
    assert await refused(table) == [required, required]


@pytest.mark.parametrize("none", ["null", "[]"])
def test_a_capacity_without_content_teaches_nothing(none: str) -> None:
    responses = Responses(has_capacity=False)
    body = f'{{"Responses": {{}}, "UnprocessedKeys": {{}}, "ConsumedCapacity": {none}}}'
    responses.parse("BatchGetItem", 200, body.encode(), b"")
    assert responses.parse("PutItem", 200, b"{}", b"") == {}


@pytest.mark.parametrize("rows", ["null", "{}", "3"])
def test_rows_that_are_not_a_list_are_refused(rows: str) -> None:
    body = f'{{"Count": 0, "Items": {rows}}}'
    with pytest.raises(StoreUnavailableError):
        Responses(has_capacity=False).parse("Query", 200, body.encode(), b"")


@pytest.mark.parametrize(
    ("operation", "actions"),
    [
        ("PutItem", [{"Put": {"Item": NEW}}]),
        ("TransactWriteItems", [{"Put": {"Item": NEW}}, {"Delete": {"Key": ABSENT}}]),
    ],
    ids=["PutItem", "TransactWriteItems"],
)
async def test_a_write_that_a_proxy_acknowledges_itself_is_sent_again(
    behind: tuple[Table, Proxy], operation: str, actions: list[Any]
) -> None:
    table, proxy = behind
    await table.get(NEW)
    proxy.choose = in_turn(operation, [answer(200, b"{}")])
    await table.write(actions)
    assert await table.get(NEW) == NEW
    assert len(set(proxy.asked(operation))) == 1, "the attempts have the same token"


async def test_capacity_of_items_does_not_require_capacity_of_queries_and_scans(
    behind: tuple[Table, Proxy],
) -> None:
    """ScyllaDB reports the capacity of all operations except these two."""
    table, proxy = behind
    proxy.choose = lambda operation, _: bare if operation in {"Query", "Scan"} else None
    await table.write([{"Put": {"Item": NEW}}])
    assert list((await table.query(QueryRequest(TABLE, "new"))).items) == [NEW]
    assert NEW in (await table.scan(0, 1, None)).items
    proxy.choose = always(answer(200, b"{}"))
    everything = set(operations(table.name))
    assert await refused(table) == [everything, everything]
