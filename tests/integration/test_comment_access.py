"""The users who see a comment in each state, by every path of the schema and in exports.

The tests find the paths in the schema. A path without a row in a ``comment_access.toml`` fails.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from string import Template

import pytest
from graphql import (
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
)

from schema.build import build_schema
from tests.feature_lists import added, merged
from tests.integration.comment_access import STATES, WHO, Cells, World, rows, shared, world
from tests.schema.conftest import Who

__all__ = ["shared", "world"]

LEAVES = ("Comment", "Submission")
_PARENTS = {
    "Query": "$FIELD",
    "Product": 'product(productId: "$PRODUCT") { $FIELD }',
    "Author": 'author(username: "ann") { $FIELD }',
    "User": 'user(username: "ann") { $FIELD }',
    "Mutation": "$FIELD",
}
PARENTS = merged(_PARENTS, "PARENTS")
"""Types with fields that return comments, and the start of an operation that selects each type."""
NO_TEXT = {"cursor", "kind", "totalCount", "waitingSince"}.union(*added("NO_TEXT"))
"""Scalar fields of lists, events and payloads that never contain a comment's text."""

FIELDS = rows("fields")


@dataclass(frozen=True)
class SchemaPath:
    """A field that returns comments, and the selection down to the comment's text."""

    name: str
    parent: str
    selection: str
    """A selection with ``$ARGUMENTS`` in place of the first field's arguments."""


SCHEMA = build_schema(explain=True, **merged({}, "SCHEMA_OPTIONS"))
TYPES: dict[str, GraphQLNamedType] = SCHEMA._schema.type_map
OBJECTS = [one for one in TYPES.values() if isinstance(one, GraphQLObjectType)]


def targets(one: GraphQLObjectType) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of each field, each object type that it returns, and whether it is
    abstract.
    """
    for name, each in one.fields.items():
        target = get_named_type(each.type)
        if is_abstract_type(target):
            for possible in SCHEMA._schema.get_possible_types(target):
                yield name, possible.name, True
        else:
            yield name, target.name, False


def parts_of_comments() -> set[str]:
    """Return the types between the fields of ``PARENTS`` and comments: lists, events and
    payloads.
    """
    parts = set(LEAVES)
    others = [
        one for one in OBJECTS if one.name not in PARENTS and TYPES["Node"] not in one.interfaces
    ]
    while (
        more := {one.name for one in others if parts & {target for _, target, _ in targets(one)}}
        - parts
    ):
        parts |= more
    return parts


PARTS = parts_of_comments()
SCALARS = {
    name
    for part in PARTS - {*LEAVES}
    for name, target, _ in targets(TYPES[part])  # type: ignore[arg-type]
    if is_leaf_type(TYPES[target])
}


def ends(name: str, passed: frozenset[str]) -> Iterator[list[str]]:
    """Yield the fields of each path from a type of ``PARTS`` to a comment, a submission
    or a scalar.
    """
    part = TYPES[name]
    assert isinstance(part, GraphQLObjectType)
    if name in LEAVES:
        yield []
        return
    for field_name, target, _ in targets(part):
        if is_leaf_type(TYPES[target]) and field_name not in NO_TEXT:
            yield [field_name]
        if target in PARTS - passed:
            for rest in ends(target, passed | {target}):
                yield [field_name, *rest]


def schema_paths() -> Iterator[SchemaPath]:
    """Yield each path of the schema that ends at a comment, a submission or a scalar.

    A path begins at a type outside ``PARTS``.
    """
    for parent in OBJECTS:
        for name, target, abstract in targets(parent):
            if parent.name in PARTS or target not in PARTS:
                continue
            for rest in ends(target, frozenset({target})):
                shown = "" if rest and rest[-1] in SCALARS else "{ text }"
                for inner in reversed(rest):
                    shown = f"{{ {inner} {shown} }}"
                if abstract:
                    shown = f"{{ ... on {target} {shown} }}"
                label = f"{parent.name}.{name}" + (f"({target})" if abstract else "")
                selection = f"{name}$ARGUMENTS {shown}"
                yield SchemaPath(".".join([label, *rest]), parent.name, selection)


PATHS = {path.name: path for path in schema_paths()}


async def run(world: World, operation: str, viewer: Who) -> str:
    """Return the response with its errors, as text."""
    result = await SCHEMA.execute(operation, context_value=world.context(viewer))
    return json.dumps([result.data, [error.formatted for error in result.errors or []]])


def operation(path: SchemaPath, given: dict[str, str], who: str) -> str:
    kind = {"Mutation": "mutation", "Subscription": "subscription"}.get(path.parent, "query")
    shown = Template(path.selection).safe_substitute(ARGUMENTS=FIELDS[path.name].given)
    inside = Template(PARENTS[path.parent]).safe_substitute(FIELD=shown)
    text = given["MARK"] if who == "author" else "own text"
    whole = Template(f"{kind} {{ {inside} }}").safe_substitute(given)
    return Template(whole).substitute(TEXT=text)


def test_the_table_of_access_has_a_row_for_every_path_of_the_schema() -> None:
    assert PATHS.keys() == FIELDS.keys()
    assert {path.parent for path in PATHS.values()} == PARENTS.keys()


READS = [name for name in PATHS if not name.startswith(("Mutation", "Subscription"))]


@pytest.mark.parametrize("name", READS)
async def test_a_read_shows_a_comment_only_to_permitted_users(world: World, name: str) -> None:
    rating = 1 if name.endswith(("Negative", "Critical")) else 5
    there = await world.all_states(f"read {next(world.numbers)}", rating)
    found: Cells = {}
    for who, viewer in WHO.items():
        for state, given in there.items():
            answer = await run(world, operation(PATHS[name], given, who), viewer)
            found[who, state] = given["MARK"] in answer
    assert found == FIELDS[name].cells()


@pytest.mark.parametrize("name", [name for name in PATHS if name.startswith("Mutation")])
async def test_a_mutation_shows_a_comment_only_to_permitted_users(world: World, name: str) -> None:
    found: Cells = {}
    for who, viewer in WHO.items():
        for state in STATES:
            given = await world.put(state, "mutations")
            answer = await run(world, operation(PATHS[name], given, who), viewer)
            found[who, state] = given["MARK"] in answer
    assert found == FIELDS[name].cells()
