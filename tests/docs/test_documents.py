"""Documented queries are valid, select ids for clients' caches, and have lists where the API does.

A normalised cache stores an object that has no id within the object around it, where other queries
do not find it. Code generators refuse `rating: 5` for a list, although GraphQL allows it.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from graphql import (
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLType,
    InlineFragmentNode,
    NoUndefinedVariablesRule,
    NoUnusedVariablesRule,
    SelectionSetNode,
    ValidationRule,
    ValueNode,
    get_named_type,
    get_nullable_type,
    parse,
    specified_rules,
    type_from_ast,
    validate,
)

from pages.page_documents import DOCUMENTS
from schema.build import build_schema
from schema.execution.selections import operations_of
from tests.docs.markdown import Fence, fences
from tests.docs.pages import living
from tests.engines import ROOT
from tools.bench.coverage import documents_in

_BODY = re.compile(r'\{\s*"query":')
_SHELL_VARIABLE = re.compile(r"'\$\w+'")
_TAB = re.compile(r"query: `([^`]+)`,\n  variables: `([^`]+)`")
_INTERPOLATED = re.compile(r'\$\{\w+ \? \w+ : (?:""|\w+)\}')

RELAY = "examples/storefront"
"""Relay's compiler adds ids itself, and refuses ids that a component does not show."""

Documented = tuple[str, DocumentNode, dict[str, Any]]
"""The place of a document, the document and the variables that the place shows."""


class SelectsId(ValidationRule):
    """A selection of an object that has an ``id`` contains the ``id``."""

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        selected = get_named_type(self.context.get_type())
        if node.selection_set and "id" in getattr(selected, "fields", ()):
            names = self._names(node.selection_set)
            if "id" not in names:
                self.report_error(GraphQLError(f"`{node.name.value}` has no `id`.", node))

    def _names(self, selected: SelectionSetNode) -> set[str]:
        names = set()
        for one in selected.selections:
            if isinstance(one, FieldNode):
                names.add(one.name.value)
            elif isinstance(one, InlineFragmentNode):
                names |= self._names(one.selection_set)
            elif isinstance(one, FragmentSpreadNode):
                fragment = self.context.get_fragment(one.name.value)
                assert isinstance(fragment, FragmentDefinitionNode)
                names |= self._names(fragment.selection_set)
        return names


class WritesLists(ValidationRule):
    """A value of a list type is a list or a variable."""

    def _check(self, node: ValueNode, *_: Any) -> None:
        if isinstance(get_nullable_type(self.context.get_input_type()), GraphQLList):
            self.report_error(GraphQLError("A list needs brackets.", node))

    enter_int_value = enter_float_value = enter_string_value = _check
    enter_boolean_value = enter_enum_value = enter_object_value = _check


RULES = (*specified_rules, SelectsId, WritesLists)
RELAYS_RULES = (
    *(
        one
        for one in specified_rules
        if one not in {NoUndefinedVariablesRule, NoUnusedVariablesRule}
    ),
    WritesLists,
)


@cache
def schema() -> GraphQLSchema:
    return build_schema(explain=True).documents.schema


def written_in(fence: Fence) -> Iterator[tuple[DocumentNode, dict[str, Any]]]:
    """Yield the documents in a block, with their variables."""
    if fence.language == "graphql":
        document = parse(fence.text)
        # Blocks with types are other subgraphs' schemas.
        if all(isinstance(one, ExecutableDefinitionNode) for one in document.definitions):
            yield document, {}
    elif fence.language in {"sh", "console"}:
        shell = _SHELL_VARIABLE.sub("", fence.text)
        for body in _BODY.finditer(shell):
            sent, _ = json.JSONDecoder().raw_decode(shell, body.start())
            yield parse(sent["query"]), sent.get("variables", {})


def documented() -> Iterator[Documented]:
    for page, text in living().items():
        for fence in fences(text):
            for document, variables in written_in(fence):
                yield f"{page}:{fence.line}", document, variables
    graphiql = _INTERPOLATED.sub("", (ROOT / "pages/static/graphiql/graphiql.js").read_text())
    for number, (text, variables) in enumerate(_TAB.findall(graphiql), 1):
        yield f"GraphiQL's tab {number}", parse(text), json.loads(variables)
    for name, text in DOCUMENTS.items():
        yield f"pages/templates/{name}.graphql", parse(text), {}
    for example in ("apollo", "storefront", "urql"):
        for path, document in documents_in(ROOT / "examples" / example):
            yield str(path.relative_to(ROOT)), document, {}


def unlisted(declared: GraphQLType | None, value: Any, place: str) -> Iterator[str]:
    """Yield the places in a JSON value where a list is written without brackets."""
    kind = declared.of_type if isinstance(declared, GraphQLNonNull) else declared
    if value is None:
        return
    if isinstance(kind, GraphQLList):
        if not isinstance(value, list):
            yield place
            return
        for one in value:
            yield from unlisted(kind.of_type, one, place)
    elif isinstance(kind, GraphQLInputObjectType):
        for name, one in value.items():
            yield from unlisted(kind.fields[name].type, one, f"{place}.{name}")


def faults(place: str, document: DocumentNode, variables: dict[str, Any]) -> list[str]:
    rules = RELAYS_RULES if place.startswith(RELAY) else RULES
    found = [one.message for one in validate(schema(), document, rules, max_errors=1000)]
    for operation in operations_of(document):
        for one in operation.variable_definitions or ():
            name, kind = one.variable.name.value, type_from_ast(schema(), one.type)
            found += unlisted(kind, variables.get(name), name)
    return found


def test_documented_queries_select_ids_and_write_lists() -> None:
    wrong = [
        f"{place}: {one}"
        for place, document, variables in documented()
        for one in faults(place, document, variables)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_documents_of_all_places_are_found() -> None:
    places = {re.sub(r":\d+$|( tab) \d+$", r"\1", place) for place, *_ in documented()}
    assert {
        "README.md",
        "docs/front-ends.md",
        "docs/tutorial.md",
        "GraphiQL's tab",
        "pages/templates/widget.graphql",
        "pages/templates/playground.graphql",
        "examples/apollo/src",
        "examples/storefront/src",
        "examples/urql/src",
    } <= places


@pytest.mark.parametrize(
    ("text", "variables", "fault"),
    [
        ('{ product(productId: "1") { title } }', {}, "`product` has no `id`."),
        (
            '{ product(productId: "1") { ...A } } fragment A on Product { title }',
            {},
            "`product` has no `id`.",
        ),
        ('{ node(id: "1") { ... on Product { title } } }', {}, "`node` has no `id`."),
        (
            '{ product(productId: "1") { id statistics(language: "en") { total } } }',
            {},
            "A list needs brackets.",
        ),
        (
            """query ($a: [String!] = "en") {
              product(productId: "1") { id statistics(language: $a) { total } } }""",
            {},
            "A list needs brackets.",
        ),
        (
            """query ($a: [String!]) {
              product(productId: "1") { id statistics(language: $a) { total } } }""",
            {"a": "en"},
            "a",
        ),
    ],
)
def test_a_query_without_an_id_or_with_a_value_as_a_list_is_found(
    text: str, variables: dict[str, Any], fault: str
) -> None:
    assert faults("a page", parse(text), variables) == [fault]
