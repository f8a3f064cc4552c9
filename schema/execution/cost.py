"""Predicts the cost of an operation, in DynamoDB requests and capacity, before the first read.

The reads of each field are in its ``facts``. The cost of a field below a list is multiplied by the
number of rows that the client requests. The server can then refuse nested lists that are too large
before it reads anything.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, prod
from typing import Any

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    ListValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionNode,
    Undefined,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_list_type,
    value_from_ast_untyped,
)

from schema.execution.compiled.coercion import nodes_of
from schema.execution.facts import (
    REQUESTED,
    ROWS_READ,
    ArgumentFact,
    Effect,
    FullPages,
    ReadLimits,
    Reads,
    SchemaFacts,
    Sorting,
)
from schema.execution.selections import fields_of, fragments_of

MAX_VARIABLE_VALUES = 1_000
"""Maximum values in a request's variables. The server checks and converts each value. An order of
90 lines has 300 values."""

MAX_ANSWER_VALUES = 14_000
"""Maximum values in an operation's result. Each value costs some microseconds of CPU time. An
operation is refused if its usual result has more values, and ends when its result has more. The
introspection queries of GraphiQL and of code generators return about 12,000 values."""

MAX_QUESTIONS = 10
"""Maximum questions to another store in one operation. A question can read all of its rows."""

UNIT_BYTES = 4096
"""Bytes that one read capacity unit (RCU) reads with strong consistency. An eventually consistent
read of as many bytes costs half a unit.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/provisioned-capacity-mode.html"""

ROW_BYTES = 500
"""The usual size of a row, in bytes."""

_ROWS_READ = 40
"""The usual number of rows that the server reads for a page. The field ``QueryPlan.rows`` lists
these rows, so this number is the predicted length of that list."""

_VALUES_OF_PAGE = 2
"""A page that is sorted by a filter usually has at most this number of the filter's values."""

_MAX_ROW_RCU = 20
"""Maximum RCU to read a row consistently. The largest row has about 80,000 bytes."""

_ROWS_OF_RESPONSE = 12
"""The number of largest rows in one response of DynamoDB, which has at most 1 MB."""

_FURTHER = 4
"""Maximum requests that a page usually sends in addition to one for each partition of its plans,
because its filter drops more rows than expected."""

_PROOF = 3
"""Maximum requests for the counts that prove that a part of a page is empty. Each response has the
counts in 1,000 languages."""

_PLANNING = 5
"""Maximum requests for the statistics that plan a page, in addition to one for each list: further
responses with counts, and three samples of rows. The process caches these statistics for some
seconds, until it writes."""

_MAX_KEPT = 50


@dataclass(slots=True)
class Cost:
    """The expected cost of an operation.

    ``requests`` is the maximum number of requests to DynamoDB, and ``rcu`` the maximum of the read
    capacity units that they consume, if the process has the operation's statistics in its caches,
    and no request is retried. ``cold_requests`` and ``cold_rcu`` are the maximum of the requests
    that fill these caches. ``usual_requests`` is the usual number of requests. ``values`` is the
    maximum number of values in the result, and ``usual_values`` the usual number. ``questions`` is
    the number of questions to another store.
    """

    requests: float = 0
    rcu: float = 0
    values: float = 0
    usual_values: float = 0
    usual_requests: float = 0
    questions: float = 0
    cold_requests: float = 0
    cold_rcu: float = 0

    def rounded(self) -> dict[str, dict[str, float]]:
        """Return the maxima in the form that clients see: with filled caches, and in any state."""
        requests, rcu = self.limit()
        warm = self._shown(ceil(self.requests), self.rcu)
        # An operation that ends has consumed at most twice the limit: see ``dal.dynamodb.account``.
        return {"predicted": warm, "predictedCold": self._shown(requests, 2 * rcu)}

    def _shown(self, requests: float, rcu: float) -> dict[str, float]:
        shown = {"requests": requests, "rcu": round(rcu, 1), "values": round(self.values)}
        return shown | {"questions": round(self.questions)} if self.questions else shown

    def fault(self, limits: ReadLimits) -> str | None:
        """Return a sentence if there are too many requests, values or questions; otherwise None.

        RCU have no maximum. An operation with a larger maximum of values than usual values may
        run: if its result has too many values, it ends.
        """
        for amount, most, of in (
            (self.usual_requests, limits.most_requests, "requests to DynamoDB"),
            (self.usual_values, MAX_ANSWER_VALUES, "values in the result"),
            (self.questions, MAX_QUESTIONS, limits.questions),
        ):
            if amount > most:
                return (
                    f"The usual cost of the operation is about {amount:,.0f} {of}; the maximum "
                    f"is {most:,}: select fewer rows or fewer lists at a time."
                )
        return None

    def limit(self) -> tuple[float, float]:
        """Return the maximum reads, and the RCU at which an operation ends.

        Without the reads that fill caches, the reads are below twice the predicted ones, because
        data can be worse than predicted: for example, a filter may drop almost all rows.
        """
        reads = max(0, 2 * ceil(self.requests) - 1)
        return reads + ceil(self.cold_requests), self.rcu + self.cold_rcu


class PredictedCosts:
    """Predicts the cost of an operation for given variables, and caches the predictions.

    Variables that request the same numbers of rows share one prediction.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        facts: SchemaFacts,
    ) -> None:
        self._of = schema, document, operation, facts
        sizes = [
            node.value
            for node in nodes_of(document)
            if isinstance(node, ArgumentNode) and node.name.value in facts.sizing
        ]
        self._names = [value.name.value for value in sizes if isinstance(value, VariableNode)]
        lists = (value for value in sizes if isinstance(value, ListValueNode))
        self._mixed = any(
            isinstance(node, VariableNode) for value in lists for node in value.values
        )
        self.limits, self._deciding = facts.limits, facts.deciding
        self._kept: dict[tuple[object, ...], Cost] = {}

    def cost(self, variables: Mapping[str, Any]) -> Cost:
        """Return the cost of the operation with these coerced variables."""
        sizes = tuple([self._size_in(variables.get(name, Undefined)) for name in self._names])
        found = self._kept.get(sizes)
        if found is None:
            found = predicted(*self._of, variables)
            if len(self._kept) >= _MAX_KEPT:
                self._kept.clear()
            if not self._mixed:
                self._kept[sizes] = found
        return found

    def _size_in(self, value: object) -> object:
        """Return the part of a variable's value that determines the cost."""
        if isinstance(value, list):
            return len(value), len(set(map(str, value)))
        decides = value is None or value is Undefined or isinstance(value, int)
        return value if decides or (isinstance(value, str) and value in self._deciding) else ""


def predicted(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    facts: SchemaFacts,
    variables: Mapping[str, Any],
) -> Cost:
    """Return the cost of an operation. Fields that ``@skip`` or ``@include`` omits count too."""
    prediction = _Prediction(schema, document, facts, variables)
    root = schema.get_root_type(operation.operation)
    if root is not None:
        prediction.add(root, operation.selection_set.selections, _Within())
    cost = prediction.cost
    cost.values = max(cost.usual_values, min(cost.values, MAX_ANSWER_VALUES))
    if operation.operation is OperationType.MUTATION:
        # A write removes the statistics of its products from the caches.
        cost.requests += cost.cold_requests
        cost.rcu += cost.cold_rcu
    if cost.requests:
        cost.cold_requests += facts.limits.cold_requests
        cost.cold_rcu += facts.limits.cold_rcu
    return cost


@dataclass(frozen=True, slots=True)
class _Within:
    """The place of a selection in the operation.

    ``field`` is the field above, as ``Type.field``. ``times`` is the usual number of this field's
    objects in the result, and ``most`` the maximum number. For a connection, ``size`` is the number
    of requested rows, and ``read`` the number of rows that are read.
    """

    field: str = ""
    times: float = 1
    most: float = 1
    size: int = 1
    read: int = _ROWS_READ


class _Prediction:
    """Adds up the costs of an operation's fields, for given variables."""

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        facts: SchemaFacts,
        variables: Mapping[str, Any],
    ) -> None:
        self.cost = Cost()
        self._schema = schema
        self._fragments = fragments_of(document)
        self._facts = facts
        self._variables = dict(variables)
        self._read_once = False

    def add(
        self, parent: GraphQLNamedType, selections: Iterable[SelectionNode], within: _Within
    ) -> None:
        """Add the cost of the fields that ``selections`` select from the type ``parent``."""
        read_together, nothing = False, _Arguments({}, {}, self._facts.limits)
        for named, selected in fields_of(selections, self._fragments):
            owner = (self._schema.get_type(named) if named else None) or parent
            declared = self._schema.get_field(owner, selected.name.value)  # type: ignore[arg-type]
            if declared is None:
                continue
            name = f"{owner.name}.{selected.name.value}"
            overridden = self._facts.reads.get(f"{within.field}.{selected.name.value}")
            reads = overridden or self._facts.reads.get(name)
            if reads is not None and reads.together and not read_together:
                read_together = True
                self._read(Reads(), nothing, within.times, within.most)
            if reads is not None and reads.once and not self._read_once:
                self._read_once = True
                self._read(Reads(), nothing, 1, 1)
            self._add(name, reads, selected, declared.type, within)

    def _add(
        self,
        name: str,
        reads: Reads | None,
        selected: FieldNode,
        of: GraphQLOutputType,
        within: _Within,
    ) -> None:
        """Add the cost of a field, and of all fields below it."""
        arguments = self._arguments(selected, name)
        rows, most = self._rows(name, arguments.given, within, of)
        times, read = within.times * rows, within.read
        if reads is not None:
            self._read(reads, arguments, times, within.most * most)
            read = arguments.full_pages(reads) or read
        # An empty list is a value, too.
        self.cost.usual_values += max(times, within.times)
        self.cost.values += within.most * max(most, 1)
        if selected.selection_set is not None:
            below = _Within(name, times, within.most * most, arguments.size(), read)
            self.add(get_named_type(of), selected.selection_set.selections, below)

    def _read(self, reads: Reads, arguments: "_Arguments", times: float, most: float) -> None:
        usual = reads.requests
        if reads.paged:
            usual = arguments.partitions(usual)
        if arguments.paging.keys() & {Effect.AFTER, Effect.LAST}:
            usual += reads.further
        requests = usual if reads.most_requests is None else reads.most_requests
        rows: float = 0
        if reads.paged:
            requests = arguments.most_requests(reads) + arguments.size() // _ROWS_OF_RESPONSE
            rows = arguments.most_rows(reads)
        if reads.looks_up is not None and reads.looks_up in arguments.given.values():
            rows += arguments.size()
        units = (requests + rows) * _MAX_ROW_RCU
        if reads.planned and arguments.filtered:
            dropped = self._facts.limits.most_dropped * arguments.searches()
            units += dropped * ROW_BYTES / UNIT_BYTES
        self.cost.usual_requests += times * usual
        self.cost.requests += most * requests
        self.cost.rcu += most * units * reads.unit
        self.cost.questions += times * reads.questions
        if reads.planned and arguments.filtered:
            cold = most * (_most_lists(reads) + _PLANNING)
            self.cost.cold_requests += cold
            self.cost.cold_rcu += cold * _MAX_ROW_RCU * reads.unit

    def _rows(
        self, name: str, given: Mapping[str, Any], within: _Within, of: GraphQLOutputType
    ) -> tuple[float, float]:
        """Return how many objects a field returns for each object of its parent type.

        The first number is the usual number, the second the maximum.
        """
        sized = self._facts.sized.get(name)
        if sized == REQUESTED:
            return within.size, within.size
        if sized == ROWS_READ:
            return within.read, MAX_ANSWER_VALUES
        if sized is not None:
            objects = given.get(sized, [])
            # A single value counts as a list of one:
            # https://spec.graphql.org/October2021/#sec-List.Input-Coercion
            count = len(objects) if isinstance(objects, list) else 1
            return count, count
        reads = self._facts.reads.get(name)
        if reads is not None and reads.rows is not None:
            return reads.rows, max(reads.rows, reads.most)
        if name in (introspected := introspected_rows(self._schema)):
            return introspected[name]
        # Other lists have an item for each value of a request, such as an error in the value.
        return 1, MAX_VARIABLE_VALUES if is_list_type(get_nullable_type(of)) else 1

    def _arguments(self, field: FieldNode, name: str) -> "_Arguments":
        """Return the arguments of the field ``name`` that are not null."""
        given = {
            argument.name.value: value_from_ast_untyped(argument.value, self._variables)
            for argument in field.arguments or ()
        }
        given = {name: value for name, value in given.items() if value not in (None, Undefined)}
        return _Arguments(given, self._facts.arguments.get(name, {}), self._facts.limits)


class _Arguments:
    """The arguments of a selected field that are not null, and their effects on its reads.

    ``filtered`` is whether an argument filters or sorts the page, which may then read more than its
    rows. ``paging`` has the other effects, and the arguments that have them.
    """

    def __init__(
        self, given: Mapping[str, Any], facts: Mapping[str, ArgumentFact], limits: ReadLimits
    ) -> None:
        self.given = given
        self.paging: dict[Effect, Any] = {}
        self.filtered = self._searched = False
        self._limits = limits
        self._filters: dict[str, Any] = {}
        self._by_filter: Sorting | None = None
        self._in_stages = self._in_full = False
        for name, value in given.items():
            match facts.get(name):
                case Effect.PARTITIONS:
                    self._filters[name] = value
                    self.filtered |= bool(value)
                case Effect.FURTHER:
                    self.filtered |= bool(value)
                case Effect.SEARCHES:
                    self.filtered = self._searched = True
                case Effect() as effect:
                    self.paging[effect] = value
                case Sorting() as sorting if isinstance(value, str):
                    self.filtered = True
                    self._by_filter = sorting if value in sorting.by_filter else None
                    self._in_stages = value in sorting.in_stages
                case FullPages(values) if isinstance(value, str):
                    self._in_full = value in values

    def size(self) -> int:
        """Return the number of rows that the client requests of a list, within the limits.

        The resolver refuses numbers outside of them.
        """
        default = self._limits.default_rows
        size = self.paging.get(Effect.FIRST, self.paging.get(Effect.LAST, default))
        return min(self._limits.most_rows, max(0, size)) if isinstance(size, int) else default

    def full_pages(self, reads: Reads) -> int:
        """Return how many rows a page usually reads that is planned in full pages; otherwise 0."""
        return int(self.partitions(reads.requests)) * self.size() if self._in_full else 0

    def most_rows(self, reads: Reads) -> float:
        """Return the maximum number of rows of a page, with the rows of full pages."""
        return self.size() * (self._most_planned(reads) if self._in_full else 1)

    def partitions(self, lists: float) -> float:
        """Return the maximum number of partitions that a page usually reads.

        ``lists`` is the number of lists that the page merges: for a group, one list for each
        product. Partitions above the maximum do not count, because such a page is not planned.
        """
        sizes = self._most_values()
        if (sorting := self._by_filter) is not None:
            most = sizes.get(sorting.filter, _VALUES_OF_PAGE)
            sizes[sorting.filter] = min(_VALUES_OF_PAGE, most)
        # For the first of two stages, add one partition for each list.
        return self._at_most(lists, sizes) + lists * self._in_stages

    def most_requests(self, reads: Reads) -> float:
        """Return the maximum number of requests of a page, if one response has all its rows."""
        requests = self._most_planned(reads)
        if self.filtered:
            # The rest of the page may need a new plan. A list with an order may then be read as a
            # whole, and sorted in memory.
            ordered = self._in_stages or self._by_filter is not None
            whole = self._at_most(_most_lists(reads), self._most_values())
            requests += (1 + ordered) * whole + _FURTHER * self._stages()
        if flags := self._flags():
            # Each pagination flag may need as many requests as the page.
            requests = (1 + flags) * requests + reads.further
        return requests + _PROOF * (reads.planned and self.filtered)

    def searches(self) -> int:
        """Return how many times a page may drop the maximum number of rows."""
        # Two plans may search for the page, and for each of its pagination flags.
        return 2 * (1 + self._flags()) if self._searched else 1

    def _flags(self) -> int:
        """Return the maximum number of pagination flags that need further requests."""
        return min(2, len(self.paging.keys() & {Effect.AFTER, Effect.BEFORE, Effect.LAST}))

    def _stages(self) -> float:
        """Return how many parts of a list each search for the rows of a page; 1 without a search.

        A list that is sorted by the values of a filter has a part for each value.
        """
        if not self._searched:
            return 1
        if (sorting := self._by_filter) is not None:
            return self._most_values().get(sorting.filter, sorting.filter_values)
        return 1 + self._in_stages

    def _most_planned(self, reads: Reads) -> float:
        """Return the maximum number of partitions in all plans of a page together."""
        lists, sizes = _most_lists(reads), self._most_values()
        if self._in_stages:
            return 2 * self._at_most(lists, sizes)
        if (sorting := self._by_filter) is not None:
            plans = sizes.pop(sorting.filter, sorting.filter_values)
            return plans * self._at_most(lists, sizes)
        return self._at_most(lists, sizes)

    def _most_values(self) -> dict[str, int]:
        """Return the number of values of each filter."""
        return {
            name: len(set(map(str, one))) if isinstance(one, list) else 1
            for name, one in self._filters.items()
        }

    def _at_most(self, lists: float, sizes: Mapping[str, int]) -> float:
        return min(lists * prod(sizes.values()), self._limits.most_partitions)


def _most_lists(reads: Reads) -> float:
    """Return the maximum number of lists that a page of a field merges."""
    return reads.requests if reads.most_requests is None else reads.most_requests


_WRAPPED = 0.6
"""The fraction of fields and arguments with a list type or a non-null type. Introspection of such
a type returns the wrapped type in ``ofType``."""


@lru_cache(maxsize=2)
def introspected_rows(schema: GraphQLSchema) -> Mapping[str, tuple[float, float]]:
    """Return the average and maximum length of each list of introspection, by ``Type.field``.

    ``__Type.ofType`` is not a list. Its average is the fraction of types for which the field is not
    null.
    """
    types = schema.type_map.values()
    owners = [
        type_ for type_ in types if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType)
    ]
    fields = [len(owner.fields) for owner in owners]
    arguments = [len(field.args) for owner in owners for field in owner.fields.values()]
    inputs = [len(type_.fields) for type_ in types if isinstance(type_, GraphQLInputObjectType)]
    names = [len(type_.values) for type_ in types if isinstance(type_, GraphQLEnumType)]
    interfaces = [len(owner.interfaces) for owner in owners]
    possible = [len(schema.get_possible_types(type_)) for type_ in types if is_abstract_type(type_)]
    whole, directives = len(types), len(schema.directives)
    return {
        "__Schema.types": (whole, whole),
        "__Schema.directives": (directives, directives),
        "__Directive.args": (1, max(len(one.args) for one in schema.directives)),
        "__Directive.locations": (1, max(len(one.locations) for one in schema.directives)),
        "__Type.fields": (sum(fields) / whole, max(fields)),
        "__Field.args": (sum(arguments) / sum(fields), max(arguments)),
        "__Type.inputFields": (sum(inputs) / whole, max(inputs, default=0)),
        "__Type.enumValues": (sum(names) / whole, max(names)),
        "__Type.interfaces": (sum(interfaces) / whole, max(interfaces)),
        "__Type.possibleTypes": (sum(interfaces) / whole, max(possible, default=0)),
        "__Type.ofType": (_WRAPPED, 1),
    }
