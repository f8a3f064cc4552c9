"""Requests of every kind, and both ways to send them: the wire and the SDK."""

from typing import Any

from dal.dynamodb.table import Table
from dal.dynamodb.wire import Sdk, Service, Wire
from dal.entities import INDEXES
from dal.entities.comment import ALL, COMMENT
from dal.table.definition import table_definition
from dal.table.errors import DalError
from dal.table.index import EXPIRES, TABLE, QueryRequest, query_arguments
from dal.table.ranges import Range
from tests.strategies import comment

ROWS = [COMMENT.encode(comment(f"{number:02}", text='ä\U00010000"\\\n')) for number in range(20)]
KEYS = [{"PK": row["PK"], "SK": row["SK"]} for row in ROWS]
TOTAL = {"ReturnConsumedCapacity": "TOTAL"}
ABSENT = {"PK": {"S": "nobody"}, "SK": {"S": "nobody"}}

QUERIES = {
    "newest": QueryRequest(ALL, "PRODUCT#42", descending=True, limit=5),
    "all": QueryRequest(ALL, "PRODUCT#42"),
    "between": QueryRequest(ALL, "PRODUCT#42", Range("2", "3", low_open=True), limit=7),
    "none": QueryRequest(ALL, "PRODUCT#none"),
    "of the table": QueryRequest(TABLE, KEYS[0]["PK"]["S"], consistent=True),
}


def requests(table: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return valid and invalid requests by name."""
    name = {"TableName": table}
    good = next(iter(QUERIES.values()))
    queries = {
        f"query: {kind}": ("query", name | query_arguments(request))
        for kind, request in QUERIES.items()
    }
    return queries | {
        "count": ("query", name | query_arguments(good) | {"Select": "COUNT"}),
        "get": ("get_item", {**name, **TOTAL, "Key": KEYS[0], "ConsistentRead": True}),
        "get nothing": ("get_item", {**name, **TOTAL, "Key": ABSENT}),
        "batch": ("batch_get_item", {"RequestItems": {table: {"Keys": [*KEYS, ABSENT]}}, **TOTAL}),
        "put": ("transact_write_items", {"TransactItems": [_put(table, ABSENT)], **TOTAL}),
        "put in a batch": ("batch_write_item", _batch(table, ROWS[0])),
        "put a half item": ("batch_write_item", _batch(table, {"PK": {"S": "a"}})),
        "describe nothing": ("describe_table", {"TableName": "nowhere"}),
        "create what is there": ("create_table", table_definition(table, INDEXES)),
        "expire nothing": (
            "update_time_to_live",
            {
                "TableName": "nowhere",
                "TimeToLiveSpecification": {"Enabled": True, "AttributeName": EXPIRES},
            },
        ),
        "no table": ("get_item", {"TableName": "nowhere", "Key": KEYS[0], **TOTAL}),
        "no index": ("query", name | query_arguments(good) | {"IndexName": "none"}),
        "half a character": (
            "get_item",
            {**name, **TOTAL, "Key": {**KEYS[0], "SK": {"S": "\ud800"}}},
        ),
        "bytes": ("get_item", {**name, **TOTAL, "Key": {**KEYS[0], "SK": {"B": b"a"}}}),
        "a half key": ("get_item", {**name, **TOTAL, "Key": {"PK": {"S": "a"}}}),
        "a wrong condition": (
            "query",
            name | query_arguments(good) | {"KeyConditionExpression": "#p < :p"},
        ),
        "a failed condition": (
            "transact_write_items",
            {
                "TransactItems": [
                    _put(table, {**ABSENT, "SK": {"S": "other"}}),
                    _put(table, KEYS[0], ConditionExpression="attribute_not_exists(PK)"),
                ],
                **TOTAL,
            },
        ),
    }


def _put(table: str, item: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"Put": {"TableName": table, "Item": item, **more}}


def _batch(table: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"RequestItems": {table: [{"PutRequest": {"Item": item}}]}, **TOTAL}


async def outcome(service: Service, operation: str, arguments: dict[str, Any]) -> Any:
    """Return a response, or the class and the message of an error."""
    try:
        response = await service.call(operation, arguments)
    except DalError as error:
        return type(error), str(error), getattr(error, "failed", None)
    return {name: value for name, value in response.items() if name != "ResponseMetadata"}


def ways(table: Table) -> tuple[Wire, Sdk]:
    wire = table.service
    assert isinstance(wire, Wire)
    return wire, wire._sdk
