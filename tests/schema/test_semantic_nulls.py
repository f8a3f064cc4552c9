"""Which fields have ``@semanticNonNull``, and why the other nullable fields may be null."""

import re
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    build_schema,
    is_interface_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)

from schema.build import build_schema as built
from schema.execution.semantic_nulls import is_semantic_non_null
from tests.engines import ROOT
from tests.schema.conftest import STAFF, Run
from tests.schema.unexplained_nulls import unexplained_nulls

SDL = (ROOT / "schema.graphql").read_text("utf-8")
SCHEMA = built(explain=True)
NULL = re.compile(r"\bnull\b", re.IGNORECASE)

NULLABLE: dict[str, GraphQLField] = {
    f"{owner.name}.{name}": field
    for owner in SCHEMA._schema.type_map.values()
    if (is_object_type(owner) or is_interface_type(owner)) and not owner.name.startswith("__")
    for name, field in owner.fields.items()
    if not is_non_null_type(field.type)
}
"""All nullable fields of the API."""

ITEMS = {name: one.type.of_type for name, one in NULLABLE.items() if is_list_type(one.type)}
"""The type of the items of each nullable list."""


@pytest.mark.parametrize("name", [name for name in NULLABLE if name not in ITEMS])
def test_each_nullable_field_is_null_only_after_an_error_or_says_when(name: str) -> None:
    field = NULLABLE[name]
    assert is_semantic_non_null(field) != bool(NULL.search(field.description or ""))


def test_only_nodes_may_have_null_in_its_items() -> None:
    """So all other items need no further levels of ``@semanticNonNull``."""
    marked = {name for name in ITEMS if is_semantic_non_null(NULLABLE[name])}
    assert marked == {"Query.nodes", "Query.products"}
    assert {name for name, of in ITEMS.items() if not is_non_null_type(of)} == {"Query.nodes"}


def test_the_sdl_marks_these_fields() -> None:
    marks: dict[str, bool] = {}
    for owner in build_schema(SDL).type_map.values():
        if (is_object_type(owner) or is_interface_type(owner)) and not owner.name.startswith("__"):
            for name, field in owner.fields.items():
                assert field.ast_node is not None
                directives = [one.name.value for one in field.ast_node.directives or ()]
                marks[f"{owner.name}.{name}"] = "semanticNonNull" in directives
    assert {name for name, marked in marks.items() if marked} == {
        name for name, field in NULLABLE.items() if name in marks and is_semantic_non_null(field)
    }
    assert "directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION\n" in SDL


def test_introspection_does_not_show_the_directive() -> None:
    schema = built()
    schema.as_str()
    assert {one.name for one in schema._schema.directives} == {
        one.name for one in build_schema("type Query { a: Int }").directives
    }


@pytest.mark.parametrize(
    ("data", "errors", "unexplained"),
    [
        ({"a": {"comments": None}}, [], [("a", "comments")]),
        ({"a": {"comments": None}}, [["a", "comments", "nodes", 0, "id"]], []),
        ({"a": {"comments": None}}, [["b"]], [("a", "comments")]),
        ({"a": None}, [["a"]], []),
        ({"nodes": [None, {"isKnown": None}]}, [], [("nodes", 1, "isKnown")]),
        ({"a": {"title": None}}, [], []),
    ],
)
def test_an_unexplained_null_is_found(data: Any, errors: Any, unexplained: Any) -> None:
    document = """
      query { a: product(productId: "1") { ...P } nodes(ids: []) { ... on User { isKnown } } }
      fragment P on Product { title comments { nodes { id } } }
    """
    answer = {"data": data, "errors": [{"path": path} for path in errors]}
    assert unexplained_nulls(SCHEMA._schema, document, answer) == unexplained


async def test_a_failed_field_is_null_with_an_error(run: Run) -> None:
    document = '{ openOrders(before: "x") { nodes { id } } }'
    answer = await run(document, STAFF)
    assert answer["data"] == {"openOrders": None}
    assert [error["path"] for error in answer["errors"]] == [["openOrders"]]
