"""Requests with malformed responses are retried. Each error code has its ``dal`` error."""

import json
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from dal.dynamodb import retries
from dal.dynamodb.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    ConflictError,
    InvalidRequestError,
    NoTableError,
    StoreUnavailableError,
    ThrottledError,
)
from dal.dynamodb.responses import dal_error, parse_error
from dal.dynamodb.table import Table
from dal.table.errors import DalError, StoreRefusedError
from dal.table.index import TABLE, QueryRequest
from dal.table.items import Item
from tests.fakes import error_response
from tests.proxy import Proxy, Spoil, through_proxy

SPOILT: dict[str, Spoil] = {
    "an empty object": lambda _: b"{}",
    "nothing": lambda _: b"",
    "a page of HTML": lambda _: b"<html>Sign in to the network</html>",
    "a list": lambda _: b"[]",
    "half": lambda body: body[: len(body) // 2],
    "another value": lambda body: body.replace(b"kept", b"lost") + b" ",
}


def item(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": "s"}, "data": {"S": "kept"}}


@pytest.fixture
async def opened(table: Table) -> AsyncIterator[tuple[Table, Proxy]]:
    async with through_proxy(table) as both:
        yield both


@pytest.fixture
def proxy(opened: tuple[Table, Proxy]) -> Proxy:
    return opened[1]


@pytest.fixture
def beyond(opened: tuple[Table, Proxy]) -> Table:
    """The table behind the proxy."""
    return opened[0]


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
async def test_a_read_with_a_malformed_response_is_repeated(
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
async def test_a_write_with_a_malformed_response_is_executed_once_by_one_token(
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


async def test_a_store_with_only_malformed_responses_is_unavailable(
    proxy: Proxy, beyond: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beyond.get({"PK": {"S": "a"}, "SK": {"S": "s"}})  # the first call also connects
    monkeypatch.setattr(retries, "DEADLINE", 0.3)
    proxy.spoils = {"GetItem": [SPOILT["an empty object"]] * 1_000}
    with pytest.raises(StoreUnavailableError, match="Malformed response"):
        await beyond.get({"PK": {"S": "a"}, "SK": {"S": "s"}})


def error_of(code: str, status: int = 400, reasons: tuple[str, ...] = ()) -> DalError:
    return dal_error(error_response(code, status, reasons))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ProvisionedThroughputExceededException", ThrottledError),
        ("RequestLimitExceeded", ThrottledError),
        ("ThrottlingException", ThrottledError),
        ("TransactionConflictException", ConflictError),
        ("TransactionInProgressException", ConflictError),
        ("ResourceInUseException", AlreadyExistsError),
        ("ResourceNotFoundException", NoTableError),
        ("AccessDeniedException", StoreRefusedError),
        ("UnrecognizedClientException", StoreRefusedError),
        ("ConditionalCheckFailedException", ConditionFailedError),
        ("ValidationException", InvalidRequestError),
        ("IdempotentParameterMismatchException", StoreRefusedError),
    ],
)
def test_each_error_code_raises_its_error(code: str, error: type[DalError]) -> None:
    assert type(error_of(code)) is error


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failure_of_dynamodb_raises_store_unavailable(status: int) -> None:
    fault = error_of("InternalServerError", status)
    assert type(fault) is StoreUnavailableError
    assert "InternalServerError" in str(fault)


def test_throttling_with_status_500_raises_throttled() -> None:
    assert type(error_of("ThrottlingException", 500)) is ThrottledError


@pytest.mark.parametrize(
    ("reasons", "error"),
    [
        (("None", "TransactionConflict"), ConflictError),
        (("ThrottlingError", "None"), ThrottledError),
        (("None", "ProvisionedThroughputExceeded"), ThrottledError),
        (("None", "ValidationError"), InvalidRequestError),
        ((), StoreRefusedError),
    ],
)
def test_the_reasons_of_a_cancelled_transaction_decide_its_error(
    reasons: tuple[str, ...], error: type[DalError]
) -> None:
    assert type(error_of("TransactionCanceledException", reasons=reasons)) is error


@pytest.mark.parametrize(
    ("reasons", "failed"),
    [
        (("ConditionalCheckFailed",), [0]),
        (("None", "ConditionalCheckFailed"), [1]),
        (("ConditionalCheckFailed", "None", "ConditionalCheckFailed"), [0, 2]),
        (("TransactionConflict", "ConditionalCheckFailed"), [1]),
    ],
)
def test_a_failed_condition_takes_precedence_over_all_other_reasons(
    reasons: tuple[str, ...], failed: list[int]
) -> None:
    fault = error_of("TransactionCanceledException", reasons=reasons)
    assert isinstance(fault, ConditionFailedError)
    assert fault.failed == failed


def test_reasons_without_a_code_are_ignored() -> None:
    response = error_response("TransactionCanceledException")
    response["CancellationReasons"] = [{}, {"Code": "ConditionalCheckFailed"}]
    fault = dal_error(response)
    assert isinstance(fault, ConditionFailedError)
    assert fault.failed == [1]


def test_the_error_of_a_missing_table_names_the_command_that_creates_it() -> None:
    assert "`marginalia table create`" in str(error_of("ResourceNotFoundException"))


def test_a_refused_request_has_the_message_of_dynamodb() -> None:
    assert str(error_of("AccessDeniedException")).endswith("AccessDeniedException happened")
    response = error_response("AccessDeniedException")
    del response["Error"]["Message"]
    assert str(dal_error(response)).endswith("AccessDeniedException")


@pytest.mark.parametrize(
    "members",
    [
        {"CancellationReasons": [None]},
        {"CancellationReasons": ["ConditionalCheckFailed"]},
        {"CancellationReasons": [{"Code": "ConditionalCheckFailed"}], "message": 1},
    ],
)
def test_a_malformed_error_raises_store_unavailable(members: dict[str, Any]) -> None:
    body = orjson.dumps({"__type": "TransactionCanceledException"} | members)
    with pytest.raises(StoreUnavailableError, match="Malformed response"):
        raise dal_error(parse_error(400, body, b"", "application/x-amz-json-1.0"))
