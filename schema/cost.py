"""The cost of an operation in DynamoDB's terms, predicted before anything is read.

Every field that reads has its requests in one table. Lists multiply what is below them by the rows
that they are asked for, so nested lists are refused before the first read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    GraphQLNamedType,
    GraphQLSchema,
    ListValueNode,
    OperationDefinitionNode,
    SelectionNode,
    Undefined,
    VariableNode,
    get_named_type,
    value_from_ast_untyped,
)

from dal.entities.leaderboard import BOARD_SHARDS
from dal.entities.order import OPEN_SHARDS
from dal.query.access_paths import MAX_SEGMENTS
from dal.query.plan_basis import UNKNOWING
from dal.repositories.leaderboard import RANKS_BYTES
from resolvers.connections import DEFAULT_SIZE, MAX_SIZE
from schema.fragments import fields_of, fragments_of, nodes_of
from schema.introspection_size import introspected_rows

MAX_REQUESTS = 250
"""Requests to DynamoDB that one operation may be expected to make."""

MAX_VALUES = 10_000
"""Values that its answer may be expected to hold: some microseconds of work each."""

MAX_QUESTIONS = 10
"""Questions to the analytics store: each reads as many rows as a product has, or a shop."""

ROW_BYTES = 500
"""What a row takes in DynamoDB, as it usually is."""

_UNIT_BYTES = 4096


class QueryTooCostlyError(Exception):
    """The operation is expected to read or to answer more than one request may."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The requests of one field, as they usually are, and what 4 KB cost each of them in RCU.

    A ``paged`` field reads the rows that it is asked for, any other one row. ``further`` is what a
    page that does not begin its list reads besides, in requests of 4 KB. ``questions`` are those to
    the analytics store. What is ``sharded`` is asked of each shard of a product's lists.
    """

    requests: int = 1
    unit: float = 1.0
    paged: bool = False
    further: int = 0
    questions: int = 0
    sharded: bool = False


_PAGE, _FRESH_PAGE = Reads(unit=0.5, paged=True), Reads(paged=True)
_ROW = Reads(unit=0.5)
_COMMENTS, _NEWEST = replace(_PAGE, sharded=True), replace(_ROW, sharded=True)
_KEY, _TWO_KEYS = Reads(), Reads(2)
_WRITE = Reads(5)
_QUESTION = Reads(0, questions=1)

READS: Mapping[str, Reads] = {
    "Query.node": _KEY,
    "Query.nodes": _KEY,  # for each id
    "Query.comment": _KEY,
    "Query.leaderboard": Reads(
        2 * BOARD_SHARDS, 0.5, paged=True, further=ceil(RANKS_BYTES / _UNIT_BYTES)
    ),
    "Query.user": Reads(0),
    "Query.order": _ROW,
    "Query.openOrders": Reads(OPEN_SHARDS, 0.5, paged=True),
    "Query.organization": _TWO_KEYS,
    "Query.ticket": _TWO_KEYS,
    "Query.movers": _QUESTION,
    "Product.title": _KEY,
    "Product.pictureUrl": _KEY,
    "Product.url": _KEY,
    "Product.comments": _COMMENTS,
    "Product.statistics": _KEY,
    "Product.mostRecentPositive": _NEWEST,
    "Product.mostRecentNegative": _NEWEST,
    "Product.lastCommentedAt": _NEWEST,
    "Product.trend": _QUESTION,
    "CommentConnection.totalCount": _KEY,
    "User.profile": _KEY,
    "User.orders": _FRESH_PAGE,
    "Organization.users": _FRESH_PAGE,
    "Organization.user": _TWO_KEYS,
    "OrganizationUser.organization": _KEY,
    "OrganizationUser.tickets": _PAGE,
    "Ticket.organization": _KEY,
    "Mutation.addComment": _WRITE,
    "Mutation.updateComment": _WRITE,
    "Mutation.deleteComment": _WRITE,
    "Mutation.updateProduct": _WRITE,
    "Mutation.placeOrder": _WRITE,
    "Mutation.setOrderStatus": _WRITE,
    "Mutation.updateProfile": _WRITE,
    "Mutation.createOrganization": _WRITE,
    "Mutation.addOrganizationUser": _WRITE,
    "Mutation.createTicket": _WRITE,
    "Mutation.closeTicket": _WRITE,
}
"""What each field that reads or writes asks of DynamoDB, by type and field."""

_DETAILS = frozenset({"Product.title", "Product.pictureUrl", "Product.url"})
"""Fields that one read of their product brings."""

_ROWS: Mapping[str, float] = {
    "CommentFacets.languages": 5,
    "CommentFacets.ratings": 5,
    "CommentStatistics.histogram": 5,
    "CommentStatistics.languages": 5,
    "Order.lines": 5,
    "PlanAlternative.segments": 5,
    "QueryPlan.alternatives": 4,
    "QueryPlan.segments": 5,
    "QueryPlan.steps": 2,
    "Trend.points": 60,
    "TrendPoint.ratings": 5,
}
"""Rows of lists that no argument bounds, as they usually are."""

_ROWS_READ = 40
"""Rows that a page is read from, and that its plan tells, as they usually are."""

_FILTERS = ("rating", "language", "status")
"""Arguments of which each value may be a partition of its own."""

_SIZING = frozenset({"first", "last", "after", "ids", "planBy", *_FILTERS})
"""Arguments that say how many rows are read, and from how many partitions; or that a page does not
begin its list."""

_MAX_KEPT = 50


@dataclass(slots=True)
class Cost:
    """What an operation is expected to take: requests, read capacity, values of its answer.

    ``questions`` are those to the analytics store, ``sharded`` the requests that each further
    shard of a product's lists asks anew: they are told, but what is refused does not depend on
    shards.
    """

    requests: float = 0
    rcu: float = 0
    values: float = 0
    questions: float = 0
    sharded: float = 0

    def rounded(self, shards: int = 1) -> dict[str, float]:
        """Return it as clients see it, over so many shards of each list."""
        further = (shards - 1) * self.sharded
        shown = {
            "requests": round(self.requests + further),
            "rcu": round(self.rcu + further * _PAGE.unit, 1),
            "values": round(self.values),
        }
        return shown | {"questions": round(self.questions)} if self.questions else shown

    def check(self) -> None:
        """Raise QueryTooCostlyError for more than one request may take."""
        for amount, most, of in (
            (self.requests, MAX_REQUESTS, "requests to DynamoDB"),
            (self.values, MAX_VALUES, "values in its answer"),
            (self.questions, MAX_QUESTIONS, "questions to analytics"),
        ):
            if amount > most:
                raise QueryTooCostlyError(
                    f"The operation would take about {amount:,.0f} {of}; the most is {most:,}: "
                    "ask for fewer rows or fewer lists at a time."
                )


def predicted(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> Cost:
    """Return the cost of an operation of a valid document; directives count as selecting."""
    prediction = _Prediction(schema, document, operation, variables)
    root = schema.get_root_type(operation.operation)
    if root is not None:
        prediction.add(root, operation.selection_set.selections, times=1)
    return prediction.cost


class PredictedCosts:
    """The costs of one operation: one for all variables that say the same of sizes."""

    def __init__(
        self, schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode
    ) -> None:
        self._of = schema, document, operation
        sizes = [
            node.value
            for node in nodes_of(document)
            if isinstance(node, ArgumentNode) and node.name.value in _SIZING
        ]
        self._names = [one.name.value for one in sizes if isinstance(one, VariableNode)]
        lists = (one for one in sizes if isinstance(one, ListValueNode))
        self._mixed = any(isinstance(node, VariableNode) for one in lists for node in one.values)
        self._kept: dict[tuple[object, ...], Cost] = {}

    def cost(self, variables: Mapping[str, Any]) -> Cost:
        """Return the cost for some variables, as they came with the request."""
        said = tuple([_said(variables.get(name, Undefined)) for name in self._names])
        found = self._kept.get(said)
        if found is None:
            found = predicted(*self._of, variables)
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            if not self._mixed:
                self._kept[said] = found
        return found


def _said(value: object) -> object:
    """Return what a variable says of sizes."""
    if isinstance(value, list):
        return len(value), len(set(map(str, value)))
    told = value is None or value is Undefined or isinstance(value, int)
    return value if told or _whole(value) else ""


def _whole(plan_by: object) -> bool:
    """Return whether a page planned by that asks each partition for a whole page."""
    return isinstance(plan_by, str) and plan_by in UNKNOWING


class _Prediction:
    """Adds up what fields take, with the sizes that the operation's variables give."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
    ) -> None:
        self.cost = Cost()
        self._schema = schema
        self._fragments = fragments_of(document)
        defaults = {
            one.variable.name.value: value_from_ast_untyped(one.default_value)
            for one in operation.variable_definitions or ()
            if one.default_value is not None
        }
        self._variables = {**defaults, **variables}

    def add(
        self,
        parent: GraphQLNamedType,
        selections: Iterable[SelectionNode],
        *,
        times: float,
        size: int = 1,
        read: int = _ROWS_READ,
    ) -> None:
        """Add what ``selections`` of an object take that stands in the answer so many times.

        ``size`` is the rows that a connection is asked for, ``read`` those that it is read from.
        """
        detailed = False
        for owner, field in self._fields(parent, selections):
            declared = self._schema.get_field(owner, field.name.value)  # type: ignore[arg-type]
            if declared is None:
                continue
            name = f"{owner.name}.{field.name.value}"
            arguments = self._arguments(field)
            asked = _size(arguments)
            rows = self._rows(name, arguments, size, read)
            if not (detailed and name in _DETAILS):
                self._read(name, arguments, times * rows, asked)
            detailed = detailed or name in _DETAILS
            self.cost.values += times * rows
            if field.selection_set is not None:
                self.add(
                    get_named_type(declared.type),
                    field.selection_set.selections,
                    times=times * rows,
                    size=asked,
                    read=_whole_pages(arguments) or read,
                )

    def _read(self, name: str, arguments: Mapping[str, Any], times: float, size: int) -> None:
        """Add a field's requests, and 1 or 0.5 RCU for each started 4 KB of its rows."""
        reads = READS.get(name)
        if reads is None:
            return
        requests, units = reads.requests, reads.requests
        if reads.paged:
            requests *= _partitions(arguments)
            whole = _whole_pages(arguments)
            units = max(requests, ceil((whole or size) * ROW_BYTES / _UNIT_BYTES))
        if reads.sharded:
            self.cost.sharded += times * requests
        if arguments.keys() & {"after", "last"}:
            requests, units = requests + reads.further, units + reads.further
        self.cost.requests += times * requests
        self.cost.rcu += times * units * reads.unit
        self.cost.questions += times * reads.questions

    def _fields(
        self, parent: GraphQLNamedType, selections: Iterable[SelectionNode]
    ) -> Iterator[tuple[GraphQLNamedType, FieldNode]]:
        """Yield each field with the type that it is selected of."""
        for named, field in fields_of(selections, self._fragments):
            yield (self._schema.get_type(named) if named else None) or parent, field

    def _rows(self, name: str, arguments: Mapping[str, Any], size: int, read: int) -> float:
        """Return how often a field's object stands in each of its owner's."""
        if _is_rows(name):
            return size
        if name == "QueryPlan.rows":
            return read
        if name == "Query.nodes":
            return len(arguments["ids"])
        return _ROWS.get(name) or introspected_rows(self._schema).get(name, 1)

    def _arguments(self, field: FieldNode) -> dict[str, Any]:
        """Return the arguments that say something; a single id is a list of one."""
        given = {
            one.name.value: value_from_ast_untyped(one.value, self._variables)
            for one in field.arguments or ()
        }
        stated = {name: one for name, one in given.items() if one not in (None, Undefined)}
        ids = stated.get("ids", [])
        return stated | {"ids": ids if isinstance(ids, list) else [ids]}


def _is_rows(name: str) -> bool:
    """Return whether a field shows the rows that the field above it is asked for."""
    return name.endswith(("Connection.nodes", "Connection.edges")) or name == "Movers.products"


def _partitions(arguments: Mapping[str, Any]) -> int:
    """Return how many partitions a page may be read from; execution refuses too many."""
    listed = (arguments.get(name) for name in _FILTERS)
    sizes = (len(set(map(str, one))) for one in listed if isinstance(one, list))
    return min(prod(sizes), MAX_SEGMENTS)


def _whole_pages(arguments: Mapping[str, Any]) -> int:
    """Return how many rows are read where each partition is asked for a whole page, else 0."""
    asked = _partitions(arguments) * _size(arguments)
    return asked if _whole(arguments.get("planBy")) else 0


def _size(arguments: Mapping[str, Any]) -> int:
    """Return how many rows a list is asked for; execution refuses what is no size."""
    size = arguments.get("first", arguments.get("last", DEFAULT_SIZE))
    return min(MAX_SIZE, max(0, size)) if isinstance(size, int) else DEFAULT_SIZE
