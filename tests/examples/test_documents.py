"""The operations of the examples are valid for schema.graphql.

`make trial NAME=examples` checks types, caches and pages. It installs npm packages.
"""

from functools import cache

import pytest
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    NoUndefinedVariablesRule,
    NoUnusedVariablesRule,
    OperationDefinitionNode,
    build_schema,
    specified_rules,
    validate,
)

from tests.engines import ROOT
from tools.bench.coverage import documents_in

OPERATIONS = {
    "apollo": {"Product", "Statistics", "Comments", "AddComment", "DeleteComment", "CommentEvents"},
    "storefront": {
        "StorefrontQuery",
        "AddCommentMutation",
        "CommentItemDeleteMutation",
        "LiveCommentsSubscription",
        "LiveCommentsStatisticsQuery",
    },
    "urql": {"Product", "Statistics", "Comments", "AddComment", "DeleteComment", "CommentEvents"},
}

OF_COMPILED = {NoUndefinedVariablesRule, NoUnusedVariablesRule}
"""Rules that refuse Relay's syntax: arguments of fragments, and variables in directives."""


def documents(example: str) -> DocumentNode:
    """Return the operations and fragments of an example as one document."""
    ((_, sent),) = documents_in(ROOT / "examples" / example)
    return sent


def faults(example: str, schema: GraphQLSchema) -> list[GraphQLError]:
    rules = [one for one in specified_rules if example != "storefront" or one not in OF_COMPILED]
    return validate(schema, documents(example), rules)


@cache
def sdl() -> str:
    return (ROOT / "schema.graphql").read_text("utf-8")


@pytest.mark.parametrize("example", OPERATIONS)
def test_every_operation_of_the_examples_is_valid(example: str) -> None:
    assert faults(example, build_schema(sdl())) == []


@pytest.mark.parametrize("example", OPERATIONS)
def test_the_operations_in_the_examples_sources_are_found(example: str) -> None:
    definitions = documents(example).definitions
    operations = [one for one in definitions if isinstance(one, OperationDefinitionNode)]
    assert {one.name.value for one in operations if one.name} == OPERATIONS[example]


@pytest.mark.parametrize("example", OPERATIONS)
@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("verifiedPurchase: Boolean!", "isVerified: Boolean!"),
        ("orderBy: CommentOrder", "order: DateOrder"),
        ("enum CommentOrder", "enum OrderOfComments"),
        ("userErrors: [UserError!]!", "faults: [UserError!]!"),
    ],
)
def test_a_breaking_change_of_the_schema_is_found(example: str, now: str, then: str) -> None:
    changed = sdl().replace(now, then)
    assert changed != sdl()
    if now.startswith("enum"):
        changed = changed.replace(": CommentOrder", ": OrderOfComments")
    assert faults(example, build_schema(changed))
