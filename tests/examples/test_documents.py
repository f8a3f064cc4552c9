"""The examples' operations are valid for schema.graphql: no change of it breaks them unseen.

Types, caches and looks are for `make trial NAME=examples`; it needs what npm installs.
"""

import re
from functools import cache
from typing import Any

import pytest
from graphql import (
    REMOVE,
    DirectiveNode,
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    NoUndefinedVariablesRule,
    NoUnusedVariablesRule,
    OperationDefinitionNode,
    Visitor,
    build_schema,
    parse,
    specified_rules,
    validate,
    visit,
)

from tests.engines import ROOT

DOCUMENT = re.compile(r"\bgraphql(?:\(\s*)?`([^`]+)`")

OPERATIONS = {
    "apollo": {"Viewer", "Statistics", "Comments", "AddComment", "DeleteComment", "CommentEvents"},
    "storefront": {
        "StorefrontQuery",
        "AddCommentMutation",
        "CommentItemDeleteMutation",
        "LiveCommentsSubscription",
        "LiveCommentsStatisticsQuery",
    },
    "urql": {"Viewer", "Statistics", "Comments", "AddComment", "DeleteComment", "CommentEvents"},
}

COMPILED_AWAY = {
    "_unmask",
    "appendEdge",
    "argumentDefinitions",
    "arguments",
    "connection",
    "deleteEdge",
    "prependEdge",
    "raw_response_type",
    "refetchable",
}
"""Directives that Relay's compiler and gql.tada read and do not send."""

OF_COMPILED = {NoUndefinedVariablesRule, NoUnusedVariablesRule}
"""Arguments of Relay's fragments, and what only its directives use, are no variables."""


class _Sent(Visitor):
    def enter_directive(self, node: DirectiveNode, *_: Any) -> Any:
        return REMOVE if node.name.value in COMPILED_AWAY else None

    def enter_field(self, node: FieldNode, *_: Any) -> Any:
        return REMOVE if node.name.value == "__id" else None  # of Relay's store


def documents(example: str) -> DocumentNode:
    """Return all of an example's operations and fragments as one document."""
    sources = sorted((ROOT / "examples" / example / "src").rglob("*.ts*"))
    written = [path for path in sources if not {"__generated__", "gql"} & set(path.parts)]
    found = [text for path in written for text in DOCUMENT.findall(path.read_text("utf-8"))]
    sent: DocumentNode = visit(parse("\n".join(found)), _Sent())
    return sent


def faults(example: str, schema: GraphQLSchema) -> list[GraphQLError]:
    rules = [one for one in specified_rules if example != "storefront" or one not in OF_COMPILED]
    return validate(schema, documents(example), rules)


@cache
def sdl() -> str:
    return (ROOT / "schema.graphql").read_text("utf-8")


@pytest.mark.parametrize("example", OPERATIONS)
def test_every_operation_is_valid(example: str) -> None:
    assert faults(example, build_schema(sdl())) == []


@pytest.mark.parametrize("example", OPERATIONS)
def test_the_operations_are_found(example: str) -> None:
    definitions = documents(example).definitions
    operations = [one for one in definitions if isinstance(one, OperationDefinitionNode)]
    assert {one.name.value for one in operations if one.name} == OPERATIONS[example]


@pytest.mark.parametrize("example", OPERATIONS)
@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("verifiedPurchase: Boolean!", "isVerified: Boolean!"),
        ("orderBy: DateOrder", "order: DateOrder"),
        ("enum DateOrder", "enum OrderOfComments"),
        ("userErrors: [UserError!]!", "faults: [UserError!]!"),
    ],
)
def test_a_change_that_would_break_one_is_seen(example: str, now: str, then: str) -> None:
    changed = sdl().replace(now, then)
    assert changed != sdl()
    if now.startswith("enum"):
        changed = changed.replace(": DateOrder", ": OrderOfComments")
    assert faults(example, build_schema(changed))
