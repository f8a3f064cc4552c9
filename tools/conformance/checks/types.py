"""Checks of the schema: which types, fields and arguments a connection has."""

from collections.abc import AsyncGenerator

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

from tools.conformance.check import Finding, Level, check
from tools.conformance.session import Session
from tools.conformance.shape import field_of

_NUMERIC = frozenset({"Int", "Float", "Boolean"})


@check(Level.MUST, "connections.htm#sec-Connection-Types")
async def connection_type(session: Session) -> AsyncGenerator[Finding]:
    """The field returns an object type whose name ends in Connection."""
    type_ = session.shape.connection
    if not isinstance(type_, GraphQLObjectType):
        yield Finding(f"{type_} is not an object type.")
    if not type_.name.endswith("Connection"):
        yield Finding(f"The type's name is {type_}.", expected="a name that ends in Connection")


@check(Level.MUST, "connections.htm#sec-Connection-Types.Fields")
async def connection_fields(session: Session) -> AsyncGenerator[Finding]:
    """A connection has the fields edges, which is a list, and pageInfo, which is non-null."""
    type_ = session.shape.connection
    edges, info = field_of(type_, "edges"), field_of(type_, "pageInfo")
    if edges is None or not isinstance(get_nullable_type(edges.type), GraphQLList):
        yield _wrong(f"{type_}.edges", "a list of edges", edges)
    if info is None or str(info.type) != "PageInfo!":
        yield _wrong(f"{type_}.pageInfo", "PageInfo!", info)


@check(Level.MUST, "connections.htm#sec-Edge-Types.Fields")
async def edge_fields(session: Session) -> AsyncGenerator[Finding]:
    """An edge has a node that is not a list, and a cursor that is a String or a similar scalar."""
    type_ = session.shape.edge
    if not isinstance(type_, GraphQLObjectType):
        yield Finding(f"The type of edges is {type_ or 'missing'}.", expected="an object type")
        return
    node, cursor = field_of(type_, "node"), field_of(type_, "cursor")
    if node is None or isinstance(get_nullable_type(node.type), GraphQLList):
        yield _wrong(f"{type_}.node", "a field that is not a list", node)
    if cursor is None or not _is_text(cursor.type):
        yield _wrong(f"{type_}.cursor", "String or a scalar like it", cursor)


@check(Level.SHOULD, "connections.htm#sec-Cursor")
async def cursor_non_null(session: Session) -> AsyncGenerator[Finding]:
    """A cursor is declared non-null, because clients may continue from any edge."""
    cursor = field_of(session.shape.edge, "cursor")
    if cursor is not None and not is_non_null_type(cursor.type):
        yield _wrong(f"{session.shape.edge}.cursor", f"{cursor.type}!", cursor)


@check(Level.MUST, "connections.htm#sec-undefined.PageInfo.Fields")
async def page_info_fields(session: Session) -> AsyncGenerator[Finding]:
    """PageInfo has startCursor, endCursor, and the non-null hasNextPage and hasPreviousPage."""
    type_ = session.shape.page_info
    for name in ("hasNextPage", "hasPreviousPage"):
        flag = field_of(type_, name)
        if flag is None or str(flag.type) != "Boolean!":
            yield _wrong(f"PageInfo.{name}", "Boolean!", flag)
    for name in ("startCursor", "endCursor"):
        cursor = field_of(type_, name)
        if cursor is None or not _is_text(cursor.type):
            yield _wrong(f"PageInfo.{name}", "String or a scalar like it", cursor)


@check(Level.MUST, "connections.htm#sec-Arguments")
async def pagination_arguments(session: Session) -> AsyncGenerator[Finding]:
    """The field takes first and after, or last and before: an Int and a cursor each."""
    shape = session.shape
    if not (shape.forward or shape.backward):
        taken = ", ".join(shape.field.args) or "nothing"
        yield Finding(f"The field takes {taken}.", expected="first and after, or last and before")
    cursor = field_of(shape.edge, "cursor")
    wanted = get_nullable_type(cursor.type) if cursor is not None else None
    for name, argument in shape.field.args.items():
        nullable = get_nullable_type(argument.type)
        if name in {"first", "last"} and nullable is not GraphQLInt:
            yield _wrong(name, "Int", argument)
        if name in {"after", "before"} and str(nullable) != str(wanted):
            yield _wrong(name, f"{wanted}, the cursor's type", argument)


@check(Level.SHOULD, "connections.htm#sec-Arguments")
async def both_directions(session: Session) -> AsyncGenerator[Finding]:
    """The field takes first, after, last and before, so that clients page in both directions."""
    shape = session.shape
    if shape.forward != shape.backward:
        missing = "last and before" if shape.forward else "first and after"
        yield Finding(f"The field does not take {missing}.")


@check(Level.MUST, "objectidentification.htm#sec-Node-Interface")
async def node_interface(session: Session) -> AsyncGenerator[Finding]:
    """The schema has an interface Node with one field, id: ID!."""
    node = session.shape.schema.type_map.get("Node")
    if not isinstance(node, GraphQLInterfaceType):
        yield Finding(f"Node is {'not an interface' if node else 'missing'}.")
        return
    fields = [f"{name}: {field.type}" for name, field in node.fields.items()]
    if fields != ["id: ID!"]:
        yield Finding(
            "The interface Node does not have exactly one field, id.",
            expected="id: ID!",
            got=", ".join(fields),
        )


@check(Level.MUST, "objectidentification.htm#sec-Node-root-field")
async def node_field(session: Session) -> AsyncGenerator[Finding]:
    """The query type has a field node(id: ID!) that returns Node."""
    field = field_of(session.shape.schema.query_type, "node")
    if field is None:
        yield Finding("The query type has no field node.")
        return
    arguments = [f"{name}: {argument.type}" for name, argument in field.args.items()]
    if arguments != ["id: ID!"]:
        got = ", ".join(arguments) or "none"
        yield Finding(
            "The field node does not take exactly one argument, id.", expected="id: ID!", got=got
        )
    if str(get_nullable_type(field.type)) != "Node":
        yield _wrong("node", "Node", field)


@check(Level.MUST, "objectidentification.htm#sec-Plural-identifying-root-fields")
async def nodes_field(session: Session) -> AsyncGenerator[Finding]:
    """The query type's field `nodes`, if any, takes a list of ids and returns a list of Node."""
    field = field_of(session.shape.schema.query_type, "nodes")
    if field is None:
        return
    arguments = [str(argument.type) for argument in field.args.values()]
    if arguments != ["[ID!]!"]:
        got = ", ".join(arguments) or "none"
        yield Finding(
            "The field nodes does not take exactly one argument, a list of ids.",
            expected="one [ID!]!",
            got=got,
        )
    if str(field.type).replace("!", "") != "[Node]":
        yield _wrong("nodes", "[Node]", field)


def _is_text(type_: GraphQLOutputType) -> bool:
    named = get_nullable_type(type_)
    return isinstance(named, GraphQLScalarType) and named.name not in _NUMERIC


def _wrong(name: str, expected: str, got: GraphQLField | GraphQLArgument | None) -> Finding:
    if got is None:
        return Finding(f"{name} is missing.", expected=expected)
    return Finding(f"{name} has the wrong type.", expected=expected, got=str(got.type))


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
