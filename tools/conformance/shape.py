"""How the schema declares the connection: its field, its types, and the selection of a page."""

from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    build_client_schema,
    get_introspection_query,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_leaf_type,
    is_required_argument,
)

from tools.conformance.endpoint import ConformanceError, Endpoint
from tools.conformance.target import Target

DEEPEST = 3
"""Maximum number of fields in a suggested path."""
SUGGESTED = 12

_FLAGS = ("hasNextPage", "hasPreviousPage", "startCursor", "endCursor")


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema and the connection's field in it."""

    schema: GraphQLSchema
    field: GraphQLField

    @property
    def connection(self) -> GraphQLNamedType:
        """The field's type, without list and non-null."""
        return get_named_type(self.field.type)

    @property
    def edge(self) -> GraphQLNamedType | None:
        """The type of ``edges``."""
        return _type_of(self.connection, "edges")

    @property
    def node(self) -> GraphQLNamedType | None:
        """The type of an edge's ``node``."""
        return None if self.edge is None else _type_of(self.edge, "node")

    @property
    def page_info(self) -> GraphQLNamedType | None:
        """The type of ``pageInfo``."""
        return _type_of(self.connection, "pageInfo")

    @property
    def readable(self) -> bool:
        """Whether the types have edges with node and cursor."""
        return self.node is not None and field_of(self.edge, "cursor") is not None

    @property
    def forward(self) -> bool:
        """Whether the field takes ``first`` and ``after``."""
        return {"first", "after"} <= self.field.args.keys()

    @property
    def backward(self) -> bool:
        """Whether the field takes ``last`` and ``before``."""
        return {"last", "before"} <= self.field.args.keys()

    def selection(self) -> str:
        """Return the selection set of a page: ``edges``, and the fields of ``pageInfo`` that exist.

        Of each row the id is selected, or its ``plain_fields`` if it has no id.
        """
        flags = [flag for flag in _FLAGS if field_of(self.page_info, flag) is not None]
        info = f" pageInfo {{ {' '.join(flags)} }}" if flags else ""
        own = ["id"] if field_of(self.node, "id") is not None else plain_fields(self.node)
        key = f" {{ {' '.join(['__typename', *own])} }}" if is_composite_type(self.node) else ""
        return f"{{ edges {{ cursor node{key} }}{info} }}"


async def introspected(endpoint: Endpoint, target: Target) -> Shape:
    """Return the shape of the target; raise ConformanceError if the schema has no such field."""
    schema = await read_schema(endpoint)
    return Shape(schema, _field(schema, target))


async def read_schema(endpoint: Endpoint) -> GraphQLSchema:
    """Return the server's schema by introspection."""
    answer = await endpoint.ask(get_introspection_query(descriptions=False))
    if not answer.data or "__schema" not in answer.data:
        reason = "; ".join(answer.errors) or "no data"
        raise ConformanceError(
            f"{endpoint.url} does not return its schema (status {answer.status}: {reason}): check "
            "that the URL is its GraphQL endpoint, and that introspection is allowed."
        )
    try:
        return build_client_schema(answer.data)  # type: ignore[arg-type]
    except TypeError as error:
        raise ConformanceError(f"The schema of {endpoint.url} is not valid: {error}") from error


def suggestions(schema: GraphQLSchema) -> list[str]:
    """Return up to SUGGESTED paths to connections, the shortest first.

    In a path, ``…`` stands for the value of a required argument, which the user fills in.
    """
    found: list[str] = []
    level: list[tuple[str, Any]] = [("", schema.query_type)]
    for _ in range(DEEPEST):
        deeper = []
        for prefix, type_ in level:
            for name, field in getattr(type_, "fields", {}).items():
                path = f"{prefix}{name}{_required(field)}"
                kind = get_named_type(field.type)
                if kind.name.endswith("Connection"):
                    found.append(path)
                elif isinstance(kind, GraphQLObjectType) and not _listed(field.type):
                    deeper.append((f"{path}.", kind))
        level = deeper
    return found[:SUGGESTED]


def field_of(type_: GraphQLNamedType | None, name: str) -> GraphQLField | None:
    """Return a field of an object or an interface; None if the type has no such field."""
    if not isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
        return None
    found: GraphQLField | None = type_.fields.get(name)
    return found


def plain_fields(type_: GraphQLNamedType | None) -> list[str]:
    """Return selections of the fields without required arguments: leaves, and ids of objects."""
    if not isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
        return []
    asked = []
    for name, field in type_.fields.items():
        if any(is_required_argument(argument) for argument in field.args.values()):
            continue
        if is_leaf_type(get_named_type(field.type)):
            asked.append(name)
        elif field_of(get_named_type(field.type), "id") and not _listed(field.type):
            asked.append(f"{name} {{ id }}")
    return asked


def _type_of(type_: GraphQLNamedType, name: str) -> GraphQLNamedType | None:
    field = field_of(type_, name)
    return None if field is None else get_named_type(field.type)


def _listed(type_: GraphQLOutputType) -> bool:
    return isinstance(get_nullable_type(type_), GraphQLList)


def _required(field: GraphQLField) -> str:
    needed = [name for name, argument in field.args.items() if is_required_argument(argument)]
    return f"({', '.join(f'{name}: …' for name in needed)})" if needed else ""


def _field(schema: GraphQLSchema, target: Target) -> GraphQLField:
    """Return the target's field, found by following its steps from the query type."""
    type_: GraphQLNamedType | None = schema.query_type
    field: GraphQLField | None = None
    for step in target.steps:
        if isinstance(step, FieldNode):
            field = field_of(type_, step.name.value)
            if field is None:
                known = ", ".join(suggestions(schema)) or "none in paths of up to three fields"
                raise ConformanceError(
                    f"--connection: {type_} has no field {step.name.value}. "
                    f"The connections are: {known}."
                )
            type_ = get_named_type(field.type)
        elif step.type_condition:
            type_ = schema.type_map.get(step.type_condition.name.value)
            if type_ is None:
                raise ConformanceError(
                    f"--connection: the schema has no type {step.type_condition.name.value}."
                )
    assert field is not None  # noqa: S101 - a target ends in a field
    if _listed(field.type):
        raise ConformanceError(f"{target.field.name.value} is a list, not a connection.")
    return field
