"""The GraphQL schema, type by type, with the descriptions of its SDL."""

from collections.abc import Iterator
from functools import cache

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    get_named_type,
    is_introspection_type,
    is_specified_scalar_type,
)
from graphql import build_schema as read_sdl

from docs_site.markdown import table
from schema.build import build_schema

_ROOTS = {"Query": "Questions", "Mutation": "Changes", "Subscription": "Events"}
_KINDS: dict[str, type[GraphQLNamedType]] = {
    "Objects": GraphQLObjectType,
    "Interfaces": GraphQLInterfaceType,
    "Inputs": GraphQLInputObjectType,
    "Enumerations": GraphQLEnumType,
    "Scalars": GraphQLScalarType,
}

OPENING = """\
# Schema

The whole API. `schema.graphql` in the repository is the same for programs; GraphiQL shows it
beside the query. A `!` is never null.
"""


@cache
def schema() -> GraphQLSchema:
    """Return the schema as clients see it."""
    return read_sdl(build_schema().as_str())


def schema_page() -> str:
    """Return the page of the whole schema: roots first, then the types of each kind by name."""
    return "\n".join([OPENING, *_roots(), *_types()])


def _roots() -> Iterator[str]:
    for name, heading in _ROOTS.items():
        yield from (f"## {heading}", "", *_fields(schema().type_map[name]))


def _types() -> Iterator[str]:
    shown = [
        one
        for name, one in sorted(schema().type_map.items())
        if name not in _ROOTS
        and not is_introspection_type(one)
        and not is_specified_scalar_type(one)
    ]
    for heading, kind in _KINDS.items():
        yield from (f"## {heading}", "")
        for one in shown:
            if isinstance(one, kind):
                yield from (f"### {one.name}", "", one.description or "", "", *_fields(one))


def _fields(of: GraphQLNamedType) -> Iterator[str]:
    if isinstance(of, GraphQLEnumType):
        values = [(f"`{name}`", one.description or "") for name, one in of.values.items()]
        yield from (*table(("value", "what it is"), values), "")
    elif isinstance(of, GraphQLInputObjectType):
        yield from _table("field", [_row(name, one) for name, one in of.fields.items()])
    elif isinstance(of, GraphQLObjectType | GraphQLInterfaceType):
        rows: list[tuple[str, str, str]] = []
        for name, field in of.fields.items():
            rows.append(_row(name, field))
            rows += [_row(f"↳ {given}", one) for given, one in field.args.items()]
        yield from _table("field", rows)


def _table(name: str, rows: list[tuple[str, str, str]]) -> Iterator[str]:
    yield from (*table((name, "type", "what it is"), rows), "")


def _row(name: str, one: object) -> tuple[str, str, str]:
    typed = getattr(one, "type")  # noqa: B009 - fields, arguments and input fields share no class
    description = getattr(one, "description", None) or ""
    shown = f"`{name}`" if not name.startswith("↳") else f"↳ `{name[2:]}`"
    return shown, _linked(typed), description


def _linked(typed: object) -> str:
    named = get_named_type(typed)  # type: ignore[call-overload]
    if named.name in _ROOTS or is_specified_scalar_type(named):
        return f"`{typed}`"
    return f"[`{typed}`](#{named.name.lower()})"
