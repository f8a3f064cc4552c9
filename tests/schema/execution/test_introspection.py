"""A hidden schema: no query returns it, and errors contain only names from the client's
document.
"""

from typing import Any

import pytest
from graphql import get_introspection_query

from dal.stores import Stores
from resolvers.context import Context, Viewer
from schema.build import build_schema

OPEN, CLOSED = build_schema(), build_schema(introspection=False)

GUESSES: list[tuple[str, dict[str, Any]]] = [
    ("{ produkt(productId: 1) { id } }", {}),
    ("{ a b c d e f g }", {}),
    ("{ product }", {}),
    ("{ product { productId } }", {}),
    ('{ product(productID: "1") { productId } }', {}),
    ('{ product(productId: "1") { productID } }', {}),
    ('{ product(productId: "1") { productId { x } } }', {}),
    ('{ node(id: "1") { ... on Komment { id } } }', {}),
    ('{ user(username: "a") { orders(status: PLACE) { totalCount } } }', {}),
    ("query ($input: AddComment!) { __typename }", {}),
    ("mutation ($i: AddCommentInput!) { addComment(input: $i) { userErrors { code } } }", {}),
    (
        "mutation ($i: AddCommentInput!) { addComment(input: $i) { userErrors { code } } }",
        {"i": {"produktId": "1"}},
    ),
    ("{ __schema { queryType { name } } }", {}),
    ('{ __type(name: "Comment") { name } }', {}),
    (get_introspection_query(), {}),
]


@pytest.fixture
def context(stores: Stores) -> Context:
    return Context(viewer=Viewer("ada"), stores=stores)


@pytest.mark.parametrize(("query", "variables"), GUESSES)
async def test_without_introspection_all_invalid_documents_get_one_message(
    context: Context, query: str, variables: dict[str, Any]
) -> None:
    result = await CLOSED.execute(query, variables, context_value=context)
    assert result.data is None
    (error,) = result.errors or []
    assert "introspection is off" in error.message
    assert error.formatted.keys() == {"message", "extensions"}
    assert error.extensions == {"code": "BAD_REQUEST"}


async def test_without_introspection_valid_documents_are_executed(context: Context) -> None:
    query = '{ __typename product(productId: "1") { productId } }'
    result = await CLOSED.execute(query, context_value=context)
    assert result.data == {"__typename": "Query", "product": {"productId": "1"}}


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("{", "Syntax Error"),
        ("query A { __typename } query B { __typename }", "operationName"),
        ("{ " + "a { " * 20 + "b" + " }" * 21, "depth"),
        ('{ product(productId: "1") { comments(after: "x") { totalCount } } }', "cursor"),
    ],
)
async def test_without_introspection_syntax_errors_keep_their_message(
    context: Context, query: str, word: str
) -> None:
    result = await CLOSED.execute(query, context_value=context)
    assert word in (result.errors or [])[0].message


async def test_with_introspection_errors_suggest_names(context: Context) -> None:
    result = await OPEN.execute('{ product(productID: "1") { id } }', context_value=context)
    assert any("Did you mean 'productId'?" in error.message for error in result.errors or [])
    assert (await OPEN.execute(get_introspection_query(), context_value=context)).errors is None
