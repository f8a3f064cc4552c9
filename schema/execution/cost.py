"""The cost of an operation in DynamoDB's terms, predicted before anything is read.

Every field that reads has its requests in one table (``field_reads``). Lists multiply what is below
them by the rows that they are asked for, so nested lists are refused before the first read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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

from dal.limits import (
    MAX_ANSWER_VALUES,
    MAX_QUESTIONS,
    MAX_REQUESTS,
    MAX_ROWS,
    MAX_SEGMENTS,
)
from dal.query.plan import UNKNOWING
from resolvers.connections import DEFAULT_SIZE
from schema.execution.field_reads import DETAILS, READS, ROW_BYTES, ROWS, ROWS_READ, UNIT_BYTES
from schema.execution.fragments import fields_of, fragments_of, nodes_of
from schema.execution.introspection_size import introspected_rows


class QueryTooCostlyError(Exception):
    """The operation is expected to read or to answer more than one request may."""


_FILTERS = ("rating", "language", "status")
"""Arguments with a partition for each of their values."""

_SIZING = frozenset({"first", "last", "after", "ids", "planBy", *_FILTERS})
"""Arguments that say how many rows are read, and from how many partitions; or that a page does not
begin its list."""

_MAX_KEPT = 50


@dataclass(slots=True)
class Cost:
    """What an operation is expected to take: requests, read capacity, values of its answer.

    ``questions`` are those to the analytics store.
    """

    requests: float = 0
    rcu: float = 0
    values: float = 0
    questions: float = 0

    def rounded(self) -> dict[str, float]:
        """Return it as clients see it."""
        shown = {
            "requests": round(self.requests),
            "rcu": round(self.rcu, 1),
            "values": round(self.values),
        }
        return shown | {"questions": round(self.questions)} if self.questions else shown

    def check(self) -> None:
        """Raise QueryTooCostlyError for more than one request may take."""
        for amount, most, of in (
            (self.requests, MAX_REQUESTS, "requests to DynamoDB"),
            (self.values, MAX_ANSWER_VALUES, "values in its answer"),
            (self.questions, MAX_QUESTIONS, "questions to analytics"),
        ):
            if amount > most:
                raise QueryTooCostlyError(
                    f"The operation would take about {amount:,.0f} {of}; the most is {most:,}: "
                    "select fewer rows or fewer lists at a time."
                )


def predicted(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> Cost:
    """Return the cost of an operation of a valid document, for its variables as they are coerced.

    Directives count as selecting.
    """
    prediction = _Prediction(schema, document, variables)
    root = schema.get_root_type(operation.operation)
    if root is not None:
        prediction.add(root, operation.selection_set.selections, _Within())
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
        """Return the cost for some variables, as they are coerced."""
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
    """Return the size that a variable gives."""
    if isinstance(value, list):
        return len(value), len(set(map(str, value)))
    told = value is None or value is Undefined or isinstance(value, int)
    return value if told or _whole(value) else ""


def _whole(plan_by: object) -> bool:
    """Return whether a page planned by that asks each partition for a whole page."""
    return isinstance(plan_by, str) and plan_by in UNKNOWING


@dataclass(frozen=True, slots=True)
class _Within:
    """How often an object occurs in the answer.

    Where it is a connection, ``size`` is the rows that it is asked for, and ``read`` those that it
    is read from.
    """

    times: float = 1
    size: int = 1
    read: int = ROWS_READ


class _Prediction:
    """Adds up what fields take, with the sizes that the operation's variables give."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        variables: Mapping[str, Any],
    ) -> None:
        self.cost = Cost()
        self._schema = schema
        self._fragments = fragments_of(document)
        self._variables = dict(variables)

    def add(
        self, parent: GraphQLNamedType, selections: Iterable[SelectionNode], within: "_Within"
    ) -> None:
        """Add what ``selections`` of an object take."""
        detailed = False
        for owner, selected in self._fields(parent, selections):
            declared = self._schema.get_field(owner, selected.name.value)  # type: ignore[arg-type]
            if declared is not None:
                name = f"{owner.name}.{selected.name.value}"
                known = detailed and name in DETAILS
                detailed = detailed or name in DETAILS
                self._add(name, selected, get_named_type(declared.type), within, reads=not known)

    def _add(
        self,
        name: str,
        selected: FieldNode,
        of: GraphQLNamedType,
        within: "_Within",
        *,
        reads: bool,
    ) -> None:
        """Add what a field takes that is ``of`` a type, and what is selected of that."""
        arguments = self._arguments(selected)
        times, size = within.times * self._rows(name, arguments, within), _size(arguments)
        if reads:
            self._read(name, arguments, times, size)
        self.cost.values += times
        if selected.selection_set is not None:
            below = _Within(times, size, _whole_pages(arguments) or within.read)
            self.add(of, selected.selection_set.selections, below)

    def _read(self, name: str, arguments: Mapping[str, Any], times: float, size: int) -> None:
        """Add a field's requests, and 1 or 0.5 RCU for each started 4 KB of its rows."""
        reads = READS.get(name)
        if reads is None:
            return
        requests, units = reads.requests, reads.requests
        if reads.paged:
            requests *= _partitions(arguments)
            whole = _whole_pages(arguments)
            units = max(requests, ceil((whole or size) * ROW_BYTES / UNIT_BYTES))
        if arguments.keys() & {"after", "last"}:
            requests, units = requests + reads.further, units + reads.further
        self.cost.requests += times * requests
        self.cost.rcu += times * units * reads.unit
        self.cost.questions += times * reads.questions

    def _fields(
        self, parent: GraphQLNamedType, selections: Iterable[SelectionNode]
    ) -> Iterator[tuple[GraphQLNamedType, FieldNode]]:
        """Yield each field with the type that it is selected of."""
        for named, one in fields_of(selections, self._fragments):
            yield (self._schema.get_type(named) if named else None) or parent, one

    def _rows(self, name: str, arguments: Mapping[str, Any], within: "_Within") -> float:
        """Return how often a field's object occurs in each object of its owner."""
        if _is_rows(name):
            return within.size
        if name == "QueryPlan.rows":
            return within.read
        if name == "Query.nodes":
            return len(arguments["ids"])
        return ROWS.get(name) or introspected_rows(self._schema).get(name, 1)

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
    """Return whether a field shows the rows that its parent field requests."""
    return name.endswith(("Connection.nodes", "Connection.edges")) or name == "Movers.products"


def _partitions(arguments: Mapping[str, Any]) -> int:
    """Return how many partitions a page may be read from; execution refuses too many."""
    listed = (arguments.get(name) for name in _FILTERS)
    sizes = (len(set(map(str, one))) for one in listed if isinstance(one, list))
    return min(prod(sizes), MAX_SEGMENTS)


def _whole_pages(arguments: Mapping[str, Any]) -> int:
    """Return the rows read if each partition is read for a whole page, else 0."""
    asked = _partitions(arguments) * _size(arguments)
    return asked if _whole(arguments.get("planBy")) else 0


def _size(arguments: Mapping[str, Any]) -> int:
    """Return the number of rows that a list requests; execution refuses an invalid size."""
    size = arguments.get("first", arguments.get("last", DEFAULT_SIZE))
    return min(MAX_ROWS, max(0, size)) if isinstance(size, int) else DEFAULT_SIZE
