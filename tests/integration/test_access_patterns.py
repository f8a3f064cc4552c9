"""docs/access-patterns.md is what happens: each pattern, asked through GraphQL on both engines."""

import ast
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from dal.comments import ACCESS_PATTERNS as COMMENTS
from dal.dynamodb import Connection, Table, connect
from dal.indexes import OPEN_SHARDS
from dal.keys import LAST_CHARACTER
from dal.orders import ACCESS_PATTERNS as ORDERS
from dal.orders import OPEN
from dal.stores import Stores
from dal.tables import DECLARED
from schema.build import build_schema
from tests.calls import Call, Calls, calls_of
from tests.engines import ROOT
from tests.integration.patterns import PATTERNS, fill
from tests.schema.conftest import runner

SCHEMA = build_schema()
PAGE = ROOT / "docs/access-patterns.md"
NEVER = {"FilterExpression", "ScanFilter", "QueryFilter", "ConditionalOperator"}


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    indexes: set[str]
    conditions: set[str]
    requests: str
    test: str


def _rows() -> Iterator[tuple[str, Row]]:
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| **"):
            name, _, indexes, conditions, requests, test = line.strip("| ").split(" | ")
            yield name.strip("*"), Row(_code(indexes), _code(conditions), requests, *_code(test))


def _code(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


DOCUMENTED = dict(_rows())


@pytest.fixture(scope="module", params=["dynoxide_url", "ministack_url"])
async def table(request: pytest.FixtureRequest) -> AsyncIterator[Table]:
    name = f"test-{uuid.uuid4().hex}"
    url = request.getfixturevalue(request.param)
    async with connect(Connection(name, url, embedded=True)) as opened:
        await opened.create()
        await fill(Stores.of(opened))
        yield opened


@pytest.fixture(scope="module")
def calls(table: Table) -> Calls:
    return calls_of(table)


@pytest.mark.parametrize("name", PATTERNS)
async def test_a_pattern_asks_what_the_page_says(table: Table, calls: Calls, name: str) -> None:
    pattern, row = PATTERNS[name], DOCUMENTED[name]
    run = runner(SCHEMA, Stores.of(table))  # nothing is remembered of the patterns before
    calls.clear()
    answer = await run(pattern.operation, pattern.viewer)
    assert answer["errors"] == []
    assert pattern.shows in json.dumps(answer["data"])
    assert not any(NEVER & call.arguments.keys() for call in calls)
    reads = [call for call in calls if call.operation == "Query"]
    indexes = {call.arguments.get("IndexName", "table") for call in reads}
    conditions = {_condition(call) for call in reads}
    if "up to" in row.requests:
        assert indexes <= row.indexes
        assert conditions <= row.conditions
    else:
        assert (indexes, conditions) == (row.indexes, row.conditions)
    _check_requests(calls, row)


def _check_requests(calls: Calls, row: Row) -> None:
    """A number of requests is exact; ``up to`` it there may be fewer."""
    stated = re.findall(r"(up to )?(\d+) (\w+)", row.requests)
    assert calls.operations.keys() <= {operation for *_, operation in stated}
    for fewer, most, operation in stated:
        count = calls.operations.get(operation, 0)
        assert 0 < count <= int(most)
        assert fewer or count == int(most)


def _condition(call: Call) -> str:
    """Return a key condition with its names and values in place."""
    values = call.arguments["ExpressionAttributeValues"]
    parts = call.arguments["ExpressionAttributeNames"] | {
        placeholder: value["S"].replace(LAST_CHARACTER, "…")
        for placeholder, value in values.items()
    }
    shown = str(call.arguments["KeyConditionExpression"])
    shown = re.sub(r"[#:][a-z]\b", lambda placeholder: str(parts[placeholder[0]]), shown)
    return re.sub(r"(PLACED#)\d", rf"\g<1>0…{OPEN_SHARDS - 1}", shown)


def test_the_page_has_every_pattern_and_no_other() -> None:
    assert DOCUMENTED.keys() == PATTERNS.keys()
    named = {*COMMENTS.values(), *ORDERS.values(), "A3", OPEN.access_pattern, "AP11", "T1", "T2"}
    for name in named:
        assert re.split(r"[ (]", name)[0] in DOCUMENTED


def test_the_page_knows_the_declared_indexes() -> None:
    keys = {(index.name or "table", index.partition_key, index.entity) for index in DECLARED}
    keys.add(("table", "PK", "PRODUCT"))  # statistics, which no list shows
    assert {name for row in DOCUMENTED.values() for name in row.indexes} == {key[0] for key in keys}
    for row in DOCUMENTED.values():
        for condition in row.conditions:
            attribute, entity = re.split(r" = |#", condition)[:2]
            assert any((name, attribute, entity) in keys for name in row.indexes), condition


def test_what_has_no_index_is_read_by_key() -> None:
    for row in DOCUMENTED.values():
        assert ("Query" in row.requests) == bool(row.indexes) == bool(row.conditions)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_test_that_shows_a_pattern_is_there(name: str) -> None:
    path, _, test = DOCUMENTED[name].test.partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert test in functions
