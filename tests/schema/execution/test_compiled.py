"""Every field of the schema answers the same compiled as by graphql-core, on a real engine."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from graphql import get_named_type, is_interface_type, is_leaf_type, parse
from strawberry import Schema
from strawberry.relay.utils import to_base64

from dal.analytics.duckdb_store import DuckDBStore
from dal.analytics.service import Analytics
from dal.analytics.store import AnalyticsStore
from dal.client.table import Table
from dal.model import OrderStatus
from dal.stores import Stores
from resolvers.context import Context, Viewer
from schema.execution.compiled.operation import CompiledOperation
from schema.execution.selections import operations_of
from tests import bulk, organizations
from tests.dal.analytics.oracle import write_export
from tests.schema.conftest import STAFF
from tests.schema.paths import asked_by
from tests.strategies import comment, order

COMMENTS = [comment(f"c{n}", rating=1 + n % 5, language="de" if n % 3 else "en") for n in range(9)]
IDS = orjson.dumps(
    [
        to_base64(*one)
        for one in (
            ("Comment", "c1"),
            ("Product", "42"),
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
ROOTS = {
    "node": f"(id: {orjson.dumps(to_base64('Comment', 'c1')).decode()})",
    "nodes": f"(ids: {IDS})",
    "product": '(productId: "42")',
    "comment": '(commentId: "c1")',
    "author": '(username: "ann")',
    "leaderboard": "",
    "movers": "(interval: MONTH)",
    "viewer": "",
    "user": '(username: "ann")',
    "order": '(orderId: "o1")',
    "openOrders": "(first: 2)",
    "organization": '(organizationName: "ac")',
    "ticket": '(ticketId: "t/001")',
}
REQUIRED = {"username": 'username: "olga"', "interval": "interval: MONTH"}
"""What fields below the roots are given, by the argument's name."""

FAULTS = (
    '{ product(productId: "") { id } comment(commentId: "c1") { commentId } }',
    '{ product(productId: "42") { comments(after: "x") { nodes { id } } last: lastCommentedAt } }',
    '{ a: product(productId: "42") { comments(rating: [9]) { totalCount } } }',
    '{ user(username: "ann") { orders(after: "x") { nodes { id } } } openOrders { __typename } }',
)


def everything(of: Any, schema: Schema, within: frozenset[str] = frozenset()) -> str:
    """Return a selection of all fields of a type and of those below, but of no type in itself."""
    if is_interface_type(of):
        possible = schema._schema.get_possible_types(of)
        inner = " ".join(f"... on {one.name} {everything(one, schema)}" for one in possible)
        return f"{{ __typename {inner} }}"
    parts = ["__typename"]
    for name, field in of.fields.items():
        below = get_named_type(field.type)
        if is_leaf_type(below):
            parts.append(name)
        elif below.name not in within:
            given = [one for name, one in REQUIRED.items() if name in field.args]
            argument = f"({', '.join(given)})" if given else ""
            selected = everything(below, schema, within | {of.name, below.name})
            parts.append(f"{name}{argument} {selected}")
    return f"{{ {' '.join(parts)} }}"


def operations(schema: Schema) -> dict[str, str]:
    """Return an operation for each root field that selects all below it."""
    query = schema._schema.query_type
    assert query is not None
    assert ROOTS.keys() == query.fields.keys()
    return {
        name: f"{{ {name}{given} {everything(get_named_type(query.fields[name].type), schema)} }}"
        for name, given in ROOTS.items()
    }


async def told(schema: Schema, text: str, context: Context, *, plainly: int) -> tuple[bytes, Any]:
    document = parse(text)
    (operation,) = operations_of(document)
    compiled = CompiledOperation(schema._schema, document, operation, plainly=plainly)
    result = await compiled.execute(context_value=context)
    return orjson.dumps(result.data), [dict(one.formatted) for one in result.errors or []]


@pytest.fixture
async def full(table: Table) -> Stores:
    stores = Stores(table)
    await bulk.fill(table, COMMENTS)
    await organizations.fill(stores)
    for number in range(3):
        await stores.orders.place(order(order_id=f"o{number}", status=OrderStatus.PLACED))
    await stores.users.update_profile("ann", {"full_name": "Ann", "email": "ann@example.org"})
    return stores


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Analytics]:
    """Answers of the same comments, which moved from none to some in the last month."""
    store = DuckDBStore(tmp_path / "analytics")
    later = max(one.created_at for one in COMMENTS) + timedelta(days=31)
    await store.fill(write_export(tmp_path / "export.parquet", COMMENTS), later)

    async def open_store() -> AnalyticsStore:
        return store

    yield Analytics(open_store)
    await store.close()


@pytest.mark.parametrize("viewer", [STAFF, None], ids=["staff", "nobody"])
async def test_all_fields_answer_the_same_compiled(
    schema: Schema, full: Stores, asked: Analytics, viewer: Viewer | None
) -> None:
    def context() -> Context:
        return Context(viewer, full, explain=True, analytics=asked)

    for text in (*operations(schema).values(), *FAULTS):
        for _ in range(2):  # what is remembered of rows and counts is the same from then on
            await told(schema, text, context(), plainly=1)
        expected = await told(schema, text, context(), plainly=1)
        found = await told(schema, text, context(), plainly=0)
        assert found == expected, text


def test_all_fields_are_asked(schema: Schema) -> None:
    asked = asked_by(schema, operations(schema).values())
    types = {name for name, _ in asked} - {"Node"}
    for name in types:
        fields = schema._schema.type_map[name].fields  # type: ignore[attr-defined]
        assert {field for of, field in asked if of == name} >= fields.keys(), name
    assert types >= {"OrderLine", "SegmentReading", "TicketEdge", "ProductRank", "UserProfile"}
