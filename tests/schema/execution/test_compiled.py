"""On a real engine, every field of the schema has the same results compiled and with
graphql-core.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from graphql import (
    get_named_type,
    is_interface_type,
    is_leaf_type,
    is_required_argument,
    parse,
)
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.stores import Stores
from resolvers.context import Context
from schema.execution.compiled.operation import CompiledOperation
from schema.execution.selections import operations_of
from tests.feature_lists import added, merged
from tests.schema.conftest import MODERATOR, STAFF, Who, context_of, explaining
from tests.schema.execution.filled import counts_kept, fill
from tests.schema.paths import asked_by
from tests.schema.unexplained_nulls import unexplained_nulls

IDS = orjson.dumps(
    [
        to_base64(*one)
        for one in (
            ("Comment", "c1"),
            ("Product", "42"),
            ("Submission", "held"),
            ("User", "ann"),
            ("Order", "o1"),
            ("Organization", "ac"),
            ("OrganizationUser", "ac/olga"),
            ("Ticket", "t/001"),
            ("Ticket", "none"),
            ("Nothing", "wrong"),
        )
    ]
).decode()
_ROOTS = {
    "node": f"(id: {orjson.dumps(to_base64('Comment', 'c1')).decode()})",
    "nodes": f"(ids: {IDS})",
    "product": '(productId: "42")',
    "products": '(productIds: ["42", "7", "42"])',
    "productSearch": '(title: "ket", first: 2)',
    "comment": '(commentId: "c1")',
    "author": '(username: "ann")',
    "leaderboard": "",
    "viewer": "",
    "user": '(username: "ann")',
    "order": '(orderId: "o1")',
    "openOrders": "(first: 2)",
    "openTickets": "(first: 2)",
    "organization": '(organizationName: "ac")',
    "ticket": '(ticketId: "t/001")',
}
ROOTS = merged(_ROOTS, "ROOTS")
"""The root fields with arguments."""

REQUIRED = {
    "username": 'username: "olga"',
    "interval": "interval: MONTH",
    "language": 'language: "de"',
}
"""Required arguments of fields below the root fields, by name, with values."""

_WHO: dict[str, Who] = {"staff": STAFF, "moderator": MODERATOR, "nobody": None}
WHO = merged(_WHO, "WHO")

FAULTS = (
    '{ product(productId: "") { id } comment(commentId: "c1") { commentId } }',
    '{ product(productId: "42") { comments(after: "x") { nodes { id } } last: lastCommentedAt } }',
    '{ a: product(productId: "42") { comments(rating: [9]) { totalCount } } }',
    '{ user(username: "ann") { orders(after: "x") { nodes { id } } } openOrders { __typename } }',
)


def everything(
    of: Any, schema: Schema, seen: set[tuple[str, str]], within: frozenset[str] = frozenset()
) -> str:
    """Return a selection of all fields of a type and of the types below it, without recursion.

    Each list is selected only once, because documents would be huge otherwise. ``seen`` contains
    the lists so far.
    """
    if is_interface_type(of):
        possible = schema._schema.get_possible_types(of)
        inner = " ".join(f"... on {one.name} {everything(one, schema, seen)}" for one in possible)
        return f"{{ __typename {inner} }}"
    parts = ["__typename"]
    for name, field in of.fields.items():
        below = get_named_type(field.type)
        asked = [one for one, given in field.args.items() if is_required_argument(given)]
        argument = f"({', '.join(REQUIRED[one] for one in asked)})" if asked else ""
        if is_leaf_type(below):
            parts.append(f"{name}{argument}")
        elif below.name not in within and (of.name, name) not in seen:
            if below.name.endswith("Connection"):
                seen.add((of.name, name))
            selected = everything(below, schema, seen, within | {of.name, below.name})
            parts.append(f"{name}{argument} {selected}")
    return f"{{ {' '.join(parts)} }}"


def operations(schema: Schema) -> dict[str, str]:
    """Return an operation for each root field, which selects all fields below it."""
    query = schema._schema.query_type
    assert query is not None
    assert ROOTS.keys() == query.fields.keys()
    kinds = {name: get_named_type(field.type) for name, field in query.fields.items()}
    return {
        name: f"{{ {name}{given} {everything(kinds[name], schema, set())} }}"
        for name, given in ROOTS.items()
    }


parsed = cache(parse)
"""Parses each document once: the largest take a quarter of a second."""


def operation(schema: Schema, text: str, *, plainly: int) -> CompiledOperation:
    (definition,) = operations_of(parsed(text))
    return CompiledOperation(schema._schema, parsed(text), definition, plainly=plainly)


compiled_once = cache(partial(operation, plainly=0))
"""Compiles each document once, for all viewers, as a server does."""


async def told(compiled: CompiledOperation, context: Context) -> tuple[str, Any]:
    result = await compiled.execute(context_value=context)
    return json.dumps(result.data), [dict(one.formatted) for one in result.errors or []]


def differences(first: Any, second: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two results differ, with both values.

    Results with fields in another order differ.
    """
    if isinstance(first, dict) and isinstance(second, dict) and [*first] == [*second]:
        for name in first:
            yield from differences(first[name], second[name], f"{path}.{name}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, pair in enumerate(zip(first, second, strict=True)):
            yield from differences(*pair, f"{path}[{number}]")
    elif first != second:
        yield f"{path}: {first!r} != {second!r}"


def assert_same(compiled: tuple[str, Any], plain: tuple[str, Any], text: str) -> None:
    if compiled != plain:
        parts = [(json.loads(data), errors) for data, errors in (compiled, plain)]
        pytest.fail("\n".join([*map("\n".join, map(differences, *parts)), text]), pytrace=False)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return explaining()


@pytest.fixture
async def full(table: Table) -> AsyncIterator[Stores]:
    with counts_kept():
        stores = Stores(table)
        await fill(table, stores)
        yield stores


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Mapping[type, object]]:
    """The services of features that fields use."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(one(tmp_path)) for one in added("services")]
        yield {kind: service for one in opened for kind, service in one.items()}


@pytest.mark.parametrize("who", WHO)
async def test_all_fields_have_equal_results_compiled_and_by_graphql_core(
    schema: Schema, full: Stores, services: Mapping[type, object], who: str
) -> None:
    def context() -> Context:
        return context_of(WHO[who], full, explain=True, services=services)

    for text in (*operations(schema).values(), *FAULTS):
        compiled = compiled_once(schema, text)
        for _ in range(2):  # after these reads, the process has all counts and row locations
            await told(compiled, context())
        expected = await told(operation(schema, text, plainly=1), context())
        assert_same(await told(compiled, context()), expected, text)
        answer = {"data": json.loads(expected[0]), "errors": expected[1]}
        assert unexplained_nulls(schema._schema, text, answer) == []


def test_the_tests_documents_select_every_field(schema: Schema) -> None:
    asked = asked_by(schema, operations(schema).values())
    types = {name for name, _ in asked} - {"Node"}
    for name in types:
        fields = schema._schema.type_map[name].fields  # type: ignore[attr-defined]
        assert {field for of, field in asked if of == name} >= fields.keys(), name
    assert types >= {"OrderLine", "TicketEdge", "ProductRank", "UserProfile"}
