"""Checks of the schema: which types, fields and arguments a connection has."""

from collections.abc import AsyncGenerator, Iterator

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInt,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLScalarType,
    get_nullable_type,
    is_non_null_type,
)

from tools.conformance import specification
from tools.conformance.check import Finding, Level, check
from tools.conformance.session import Session
from tools.conformance.shape import field_of

_NUMERIC = frozenset({"Int", "Float", "Boolean"})


@check(
    Level.MUST,
    specification.CONNECTION_TYPES,
    "The field returns an object type whose name ends in Connection.",
)
async def connection_type(session: Session) -> AsyncGenerator[Finding]:
    """Check the type's kind and name."""
    type_ = session.shape.connection
    if not isinstance(type_, GraphQLObjectType):
        yield Finding(f"{type_} is not an object type.")
    if not type_.name.endswith("Connection"):
        yield Finding(f"The type's name is {type_}.", expected="a name that ends in Connection")


@check(
    Level.MUST,
    specification.CONNECTION_FIELDS,
    "A connection has edges, a list, and a non-null pageInfo.",
)
async def connection_fields(session: Session) -> AsyncGenerator[Finding]:
    """Check both fields."""
    type_ = session.shape.connection
    edges, info = field_of(type_, "edges"), field_of(type_, "pageInfo")
    if edges is None or not isinstance(get_nullable_type(edges.type), GraphQLList):
        yield _wrong(f"{type_}.edges", "a list of edges", edges)
    if info is None or str(info.type) != "PageInfo!":
        yield _wrong(f"{type_}.pageInfo", "PageInfo!", info)


@check(
    Level.MUST,
    specification.EDGE_FIELDS,
    "An edge is an object with a node, which is not a list, and a cursor, which is a String.",
)
async def edge_fields(session: Session) -> AsyncGenerator[Finding]:
    """Check the edge type."""
    type_ = session.shape.edge
    if not isinstance(type_, GraphQLObjectType):
        yield Finding(f"The type of edges is {type_ or 'missing'}.", expected="an object type")
        return
    node, cursor = field_of(type_, "node"), field_of(type_, "cursor")
    if node is None or isinstance(get_nullable_type(node.type), GraphQLList):
        yield _wrong(f"{type_}.node", "anything but a list", node)
    if cursor is None or not _is_text(cursor.type):
        yield _wrong(f"{type_}.cursor", "String or a scalar like it", cursor)


@check(
    Level.SHOULD,
    specification.CURSOR,
    "A cursor is declared non-null: clients continue from any edge.",
)
async def cursor_non_null(session: Session) -> AsyncGenerator[Finding]:
    """Check the cursor's nullability."""
    cursor = field_of(session.shape.edge, "cursor")
    if cursor is not None and not is_non_null_type(cursor.type):
        yield _wrong(f"{session.shape.edge}.cursor", f"{cursor.type}!", cursor)


@check(
    Level.MUST,
    specification.PAGE_INFO_FIELDS,
    "PageInfo has two non-null flags, startCursor and endCursor.",
)
async def page_info_fields(session: Session) -> AsyncGenerator[Finding]:
    """Check the four fields."""
    type_ = session.shape.page_info
    for name in ("hasNextPage", "hasPreviousPage"):
        flag = field_of(type_, name)
        if flag is None or str(flag.type) != "Boolean!":
            yield _wrong(f"PageInfo.{name}", "Boolean!", flag)
    for name in ("startCursor", "endCursor"):
        cursor = field_of(type_, name)
        if cursor is None or not _is_text(cursor.type):
            yield _wrong(f"PageInfo.{name}", "String or a scalar like it", cursor)


@check(
    Level.MUST,
    specification.ARGUMENTS,
    "The field takes first and after, or last and before: an Int and a cursor each.",
)
async def pagination_arguments(session: Session) -> AsyncGenerator[Finding]:
    """Check that the field takes a pair, and the type of each argument."""
    shape = session.shape
    if not (shape.forward or shape.backward):
        taken = ", ".join(shape.field.args) or "nothing"
        yield Finding(f"The field takes {taken}.", expected="first and after, or last and before")
    for finding in _wrong_arguments(session):
        yield finding


def _wrong_arguments(session: Session) -> Iterator[Finding]:
    given = session.shape.field.args
    cursor = field_of(session.shape.edge, "cursor")
    wanted = get_nullable_type(cursor.type) if cursor is not None else None
    for name, argument in given.items():
        nullable = get_nullable_type(argument.type)
        if name in {"first", "last"} and nullable is not GraphQLInt:
            yield _wrong(name, "Int", argument)
        if name in {"after", "before"} and str(nullable) != str(wanted):
            yield _wrong(name, f"{wanted}, the cursor's type", argument)


@check(
    Level.SHOULD,
    specification.ARGUMENTS,
    "The field takes all four arguments, so that clients page both ways.",
)
async def both_directions(session: Session) -> AsyncGenerator[Finding]:
    """Check that no pair is missing."""
    shape = session.shape
    if shape.forward != shape.backward:
        missing = "last and before" if shape.forward else "first and after"
        yield Finding(f"The field does not take {missing}.")


@check(
    Level.MUST,
    specification.NODE_INTERFACE,
    "The schema has an interface Node with one field, id: ID!.",
)
async def node_interface(session: Session) -> AsyncGenerator[Finding]:
    """Check the interface."""
    node = session.shape.schema.type_map.get("Node")
    if not isinstance(node, GraphQLInterfaceType):
        yield Finding(f"Node is {'not an interface' if node else 'missing'}.")
        return
    fields = {name: str(field.type) for name, field in node.fields.items()}
    if fields != {"id": "ID!"}:
        got = ", ".join(f"{name}: {type_}" for name, type_ in fields.items())
        yield Finding("Node has other fields.", expected="id: ID!", got=got)


@check(
    Level.MUST,
    specification.NODE_FIELD,
    "The query type has a field node(id: ID!) that returns Node.",
)
async def node_field(session: Session) -> AsyncGenerator[Finding]:
    """Check the field and its only argument."""
    field = field_of(session.shape.schema.query_type, "node")
    if field is None:
        yield Finding("The query type has no field node.")
        return
    arguments = {name: str(argument.type) for name, argument in field.args.items()}
    if arguments != {"id": "ID!"}:
        got = ", ".join(f"{name}: {type_}" for name, type_ in arguments.items())
        yield Finding("node takes other arguments.", expected="id: ID!", got=got or "none")
    if str(get_nullable_type(field.type)) != "Node":
        yield _wrong("node", "Node", field)


@check(
    Level.MUST,
    specification.PLURAL_FIELDS,
    "A field nodes of the query type, if present, takes a list of ids and returns a list of Node.",
)
async def nodes_field(session: Session) -> AsyncGenerator[Finding]:
    """Check the argument and the type of the field, if present."""
    field = field_of(session.shape.schema.query_type, "nodes")
    if field is None:
        return
    arguments = [str(argument.type) for argument in field.args.values()]
    if arguments != ["[ID!]!"]:
        got = ", ".join(arguments)
        yield Finding("nodes takes other arguments.", expected="one [ID!]!", got=got or "none")
    if str(field.type).replace("!", "") != "[Node]":
        yield _wrong("nodes", "[Node]", field)


def _is_text(type_: GraphQLOutputType) -> bool:
    named = get_nullable_type(type_)
    return isinstance(named, GraphQLScalarType) and named.name not in _NUMERIC


def _wrong(name: str, expected: str, got: GraphQLField | GraphQLArgument | None) -> Finding:
    if got is None:
        return Finding(f"{name} is missing.", expected=expected)
    return Finding(f"{name} has another type.", expected=expected, got=str(got.type))


CHECKS = (
    connection_type,
    connection_fields,
    edge_fields,
    cursor_non_null,
    page_info_fields,
    pagination_arguments,
    both_directions,
    node_interface,
    node_field,
    nodes_field,
)
