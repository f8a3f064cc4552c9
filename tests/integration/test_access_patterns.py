"""Each example in docs/access-patterns.md, executed by GraphQL on both engines."""

import json
import re
import uuid
from collections.abc import AsyncIterator

import pytest

from dal.catalogue import ACCESS_PATTERNS as CORE_PATTERNS
from dal.catalogue import query_of
from dal.composition import ACCESS_PATTERNS
from dal.counts.mode import Maintenance, MaintenanceStore
from dal.dynamodb import admin
from dal.dynamodb.table import Table, TableAddress, connect
from dal.entities import INDEXES
from dal.entities.product import PRODUCT_DETAILS
from dal.query.errors import NoIndexError
from dal.stores import Stores
from dal.table.index import QUEUE_SHARDS
from dal.table.key_parts import LAST_CHARACTER
from schema.build import build_schema
from tests.calls import Call, Calls, calls_of
from tests.engines import ROOT
from tests.integration.access_patterns_page import pattern_of
from tests.integration.patterns import CORE, EXAMPLES, REQUESTS, Reads, fill
from tests.schema.conftest import runner

SCHEMA = build_schema()
NEVER = {"FilterExpression", "ScanFilter", "QueryFilter", "ConditionalOperator"}


@pytest.fixture(scope="module", params=["dynoxide_url", "ministack_url"])
async def table(request: pytest.FixtureRequest) -> AsyncIterator[Table]:
    name = f"test-{uuid.uuid4().hex}"
    url = request.getfixturevalue(request.param)
    async with connect(TableAddress(name, url, embedded=True)) as opened:
        await admin.create(opened, INDEXES)
        await MaintenanceStore(opened).announce(Maintenance())
        await fill(Stores(opened))
        yield opened


@pytest.fixture(scope="module")
def calls(table: Table) -> Calls:
    return calls_of(table)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_sends_the_documented_requests(
    table: Table, calls: Calls, name: str
) -> None:
    pattern, reads = EXAMPLES[name].pattern, EXAMPLES[name].reads
    stores = Stores(table)  # without the caches of earlier examples
    await stores.comments.counted()  # is read every 30 seconds, not for every page
    run = runner(SCHEMA, stores)
    calls.clear()
    answer = await run(pattern.operation, pattern.viewer)
    assert answer["errors"] == []
    assert pattern.shows in json.dumps(answer["data"])
    assert not any(NEVER & call.arguments.keys() for call in calls)
    queries = [call for call in calls if call.operation == "Query"]
    indexes = {call.arguments.get("IndexName", "table") for call in queries}
    conditions = {_condition(call) for call in queries}
    if "up to" in reads.requests:
        assert indexes <= {*reads.indexes}
        assert conditions <= {*reads.conditions}
    else:
        assert (indexes, conditions) == ({*reads.indexes}, {*reads.conditions})
    _check_requests(calls, reads)


def _check_requests(calls: Calls, reads: Reads) -> None:
    """Check the number of requests of each operation. "up to" in ``reads.requests`` is a
    maximum.
    """
    stated = REQUESTS.findall(reads.requests)
    assert calls.operations.keys() <= {operation for *_, operation in stated}
    for fewer, most, operation in stated:
        count = calls.operations.get(operation, 0)
        assert 0 < count <= int(most)
        assert fewer or count == int(most)


def _condition(call: Call) -> str:
    """Return a key condition with its names and values inserted."""
    values = call.arguments["ExpressionAttributeValues"]
    parts = call.arguments["ExpressionAttributeNames"] | {
        placeholder: value["S"].replace(LAST_CHARACTER, "…")
        for placeholder, value in values.items()
    }
    shown = str(call.arguments["KeyConditionExpression"])
    shown = re.sub(r"[#:][a-z]\b", lambda placeholder: str(parts[placeholder[0]]), shown)
    return re.sub(r"(PLACED#|DUE#|QUEUE#\w+#)\d", rf"\g<1>0…{QUEUE_SHARDS - 1}", shown)


ARTICLES = {
    *(f"AP{number}" for number in (1, 2, "3a", "3b", "3c", *range(4, 12))),
    *("A1", "A2", "A3", "A4", "A5", "A5'", "A6", "T1", "T2", "T3"),
    *("most recent positive", "most recent negative", "last commented"),
}
"""The access patterns of the articles, which docs/DESIGN.md lists."""


def test_the_core_has_an_example_and_a_test_of_each_access_pattern_of_the_articles() -> None:
    examples = [(pattern_of(name), one) for name, one in CORE.items()]
    assert {
        name for name, one in examples if not one.shown_by.startswith("tests/features/")
    } >= ARTICLES


def test_the_index_of_an_access_pattern_has_its_fields() -> None:
    for pattern in ACCESS_PATTERNS:
        if (index := pattern.index) is not None:
            needed = {one.rstrip("+*") for one in pattern.filters.split() if one[-1] != "?"}
            found = {*index.fields, *index.covers}
            assert found == needed - index.searches.keys(), pattern.name
            read = [one.reads for name, one in EXAMPLES.items() if pattern_of(name) == pattern.name]
            assert all((index.name or "table") in reads.indexes for reads in read), pattern.name


def test_every_declared_index_answers_an_access_pattern() -> None:
    named = {id(pattern.index) for pattern in CORE_PATTERNS if pattern.index}
    by_key = id(PRODUCT_DETAILS.indexes[0])  # the table itself
    assert named | {by_key} == set(map(id, INDEXES))


def test_a_query_without_an_access_pattern_is_refused_with_the_place_to_add_it() -> None:
    with pytest.raises(NoIndexError, match=r"add one to dal/catalogue\.py"):
        query_of({"product": frozenset({"42"}), "mood": frozenset({"good"})})


def test_access_patterns_without_an_index_read_by_key() -> None:
    for example in EXAMPLES.values():
        reads = example.reads
        assert ("Query" in reads.requests) == bool(reads.indexes) == bool(reads.conditions)


def test_each_access_pattern_names_an_existing_test() -> None:
    for name, example in EXAMPLES.items():
        path, _, test = example.shown_by.partition("::")
        assert f"def {test}(" in (ROOT / path).read_text("utf-8"), name
