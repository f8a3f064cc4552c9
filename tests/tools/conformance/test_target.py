"""Parsing of ``--connection``, and its error messages."""

import pytest

from tools.conformance.endpoint import ConformanceError
from tools.conformance.target import parse_target


@pytest.mark.parametrize(
    ("text", "query", "path"),
    [
        ("notes", "{ notes(first: 1) { x } }", ("notes",)),
        (
            'product(productId: "a.b(c").comments(rating: [4, 5])',
            '{ product(productId: "a.b(c") { comments(rating: [4, 5], first: 1) { x } } }',
            ("product", "comments"),
        ),
        (
            'query { a: product(productId: "42") { comments } }',
            '{ a: product(productId: "42") { comments(first: 1) { x } } }',
            ("a", "comments"),
        ),
        (
            'node(id: "1").[User].orders',
            '{ node(id: "1") { ... on User { orders(first: 1) { x } } } }',
            ("node", "orders"),
        ),
    ],
)
def test_a_path_and_a_query_name_a_connection(text: str, query: str, path: tuple[str, ...]) -> None:
    target = parse_target(text)
    assert (target.selecting("first: 1", "{ x }"), target.path) == (query, path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "--connection does not name exactly one field"),
        ("product(", "--connection is not valid GraphQL"),
        ("{ a b }", "--connection does not name exactly one field"),
        ("query ($id: ID!) { node(id: $id) }", "--connection has variables"),
        (
            "notes(first: 3)",
            "--connection sets first: leave the argument out, because the checks set it.",
        ),
        ("query { ...Page } fragment Page on Query { a }", "--connection has a named fragment."),
    ],
)
def test_a_text_without_a_connection_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConformanceError) as caught:
        parse_target(text)
    assert str(caught.value).startswith(sentence)
