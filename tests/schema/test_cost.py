"""Operations that would read too much are refused before the first read."""

import inspect

import pytest
from graphql import OperationDefinitionNode, parse
from strawberry.types.base import StrawberryObjectDefinition

from dal.table.client import Table
from schema.build import build_schema
from schema.cost import CALLS, MAX_CALLS, predicted
from tests.calls import calls_of
from tests.schema.conftest import Run

SCHEMA = build_schema()


def cost_of(text: str, **variables: object) -> tuple[int, int]:
    document = parse(text)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    cost = predicted(SCHEMA._schema, document, operation, variables)
    return cost.calls, cost.values


def product(selection: str) -> str:
    return f'{{ product(productId: "1") {{ {selection} }} }}'


@pytest.mark.parametrize(
    ("text", "calls", "values"),
    [
        ("{ __typename }", 0, 0),
        (product("productId"), 0, 2),
        (product("comments { nodes { id } }"), 1, 42),
        (product("comments(first: 3) { nodes { id } totalCount }"), 2, 9),
        (product("comments(last: 3) { edges { node { id } } }"), 1, 11),
        (product("comments(first: 100) { nodes { product { statistics { total } } } }"), 101, 402),
        (product("comments(first: 1000000) { nodes { id } }"), 1, 202),
        (product("statistics { total } mostRecentPositive { id } lastCommentedAt"), 3, 6),
        ("{ leaderboard { nodes { product { lastCommentedAt } } } }", 12, 31),
        ("{ openOrders(first: 1) { nodes { lines { quantity } } } }", 8, 4),
        ('{ nodes(ids: ["a", "b"]) { ... on Product { statistics { total } } } }', 4, 6),
        ('{ nodes(ids: "a") { ...p } } fragment p on Product { statistics { total } }', 2, 3),
        ('mutation { deleteComment(input: {id: "x"}) { deletedId } }', 5, 2),
    ],
)
def test_the_cost_of_an_operation(text: str, calls: int, values: int) -> None:
    assert cost_of(text) == (calls, values)


def test_sizes_come_from_variables_and_their_defaults() -> None:
    text = (
        "query($n: Int = 5, $ids: [ID!]!) { nodes(ids: $ids) { ... on Product {"
        " comments(first: $n) { nodes { id } } } } }"
    )
    assert cost_of(text, ids=["a", "b"]) == (4, 2 + 2 + 10 + 10)
    assert cost_of(text, ids=["a", "b"], n=1) == (4, 2 + 2 + 2 + 2)
    assert cost_of(text, ids="a", n="many") == (2, 1 + 1 + 20 + 20)


def test_every_field_that_reads_has_a_cost() -> None:
    reading = {
        f"{type_name}.{SCHEMA.config.name_converter.get_graphql_name(field)}"
        for type_name in SCHEMA._schema.type_map
        if isinstance(one := SCHEMA.get_type_by_name(type_name), StrawberryObjectDefinition)
        for field in one.fields
        if field.base_resolver and inspect.iscoroutinefunction(field.base_resolver.wrapped_func)
    }
    assert reading == CALLS.keys() - {"CommentConnection.totalCount"}


TOO_COSTLY = {
    "pages of pages": product(
        "comments(first: 100) { nodes { product { comments(first: 100) { nodes { id } } } } }"
    ),
    "statistics of many": "query { "
    + " ".join(
        f'a{n}: product(productId: "{n}") {{ comments(first: 100) {{ nodes {{ product {{'
        " statistics { total } } } } }"
        for n in range(4)
    )
    + " }",
    "values": product(
        "comments(first: 100) { nodes { id rating title product { comments(first: 60) {"
        " edges { cursor node { id rating title } } } } } }"
    ),
}


@pytest.mark.parametrize("text", TOO_COSTLY.values(), ids=TOO_COSTLY)
async def test_what_is_too_costly_is_refused_before_the_first_read(
    table: Table, run: Run, text: str
) -> None:
    calls = calls_of(table)
    answer = await run(text)
    assert answer["data"] is None
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert "the most is" in error["message"]
    assert calls == []


async def test_the_same_document_is_refused_by_its_variables_alone(run: Run) -> None:
    text = (
        'query($n: Int) { product(productId: "1") { comments(first: $n) { nodes { product {'
        " comments(first: $n) { nodes { id } } statistics { total } totals: statistics { total }"
        " } } } } }"
    )
    assert (await run(text, n=2))["errors"] == []
    (error,) = (await run(text, n=100))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert f"the most is {MAX_CALLS}" in error["message"]
