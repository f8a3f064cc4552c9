"""The cost of an operation in DynamoDB's terms, predicted before anything is read.

Every field that reads has its number of calls in one table. Lists multiply what is below them by
the rows that they are asked for, so nested lists are refused before the first read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    Undefined,
    get_named_type,
    value_from_ast_untyped,
)

from resolvers.connections import DEFAULT_SIZE, MAX_SIZE
from resolvers.leaderboard import SIZE as LEADERBOARD_SIZE

MAX_CALLS = 250
"""Calls of DynamoDB that one operation may be expected to make."""

MAX_VALUES = 20_000
"""Values that its answer may be expected to hold: each is worked on while nobody else is served."""


class QueryTooCostlyError(Exception):
    """The operation is expected to read or to answer more than one request may."""


_WRITE = 5
CALLS: Mapping[str, int] = {
    "Query.node": 1,
    "Query.nodes": 1,  # for each id
    "Query.comment": 1,
    "Query.leaderboard": 2,
    "Query.user": 0,
    "Query.order": 1,
    "Query.openOrders": 8,
    "Query.organization": 2,
    "Query.ticket": 2,
    "Product.comments": 1,
    "Product.statistics": 1,
    "Product.mostRecentPositive": 1,
    "Product.mostRecentNegative": 1,
    "Product.lastCommentedAt": 1,
    "CommentConnection.totalCount": 1,
    "User.profile": 1,
    "User.orders": 1,
    "Organization.users": 1,
    "Organization.user": 2,
    "OrganizationUser.tickets": 1,
    "Mutation.addComment": _WRITE,
    "Mutation.updateComment": _WRITE,
    "Mutation.deleteComment": _WRITE,
    "Mutation.placeOrder": _WRITE,
    "Mutation.setOrderStatus": _WRITE,
    "Mutation.updateProfile": _WRITE,
    "Mutation.createOrganization": _WRITE,
    "Mutation.addOrganizationUser": _WRITE,
    "Mutation.createTicket": _WRITE,
    "Mutation.closeTicket": _WRITE,
}
"""Calls of each field that reads or writes, by type and field, as they usually are."""


@dataclass(slots=True)
class Cost:
    """What an operation is expected to take: calls of DynamoDB, and values of its answer."""

    calls: int = 0
    values: int = 0

    def check(self) -> None:
        """Raise QueryTooCostlyError for more than one request may take."""
        for amount, most, of in (
            (self.calls, MAX_CALLS, "calls of DynamoDB"),
            (self.values, MAX_VALUES, "values in its answer"),
        ):
            if amount > most:
                raise QueryTooCostlyError(
                    f"The operation would take about {amount:,} {of}; the most is {most:,}: "
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
        self._fragments = {
            one.name.value: one
            for one in document.definitions
            if isinstance(one, FragmentDefinitionNode)
        }
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
        times: int,
        size: int = 1,
    ) -> None:
        """Add what ``selections`` of an object take that stands in the answer so many times.

        ``size`` is the rows that a connection is asked for.
        """
        for owner, field in self._fields(parent, selections):
            declared = getattr(owner, "fields", {}).get(field.name.value)
            if declared is None:  # __typename and introspection read nothing
                continue
            name = f"{owner.name}.{field.name.value}"
            arguments = self._arguments(field)
            rows = len(arguments["ids"]) if name == "Query.nodes" else 1
            if field.name.value in {"nodes", "edges"} and owner.name.endswith("Connection"):
                rows = size
            self.cost.calls += times * rows * CALLS.get(name, 0)
            self.cost.values += times * rows
            if field.selection_set is not None:
                self.add(
                    get_named_type(declared.type),
                    field.selection_set.selections,
                    times=times * rows,
                    size=_size(name, arguments),
                )

    def _fields(
        self, parent: GraphQLNamedType, selections: Iterable[SelectionNode]
    ) -> Iterator[tuple[GraphQLNamedType, FieldNode]]:
        """Yield each field with the type that it is selected of."""
        for selection in selections:
            match selection:
                case FieldNode():
                    yield parent, selection
                case InlineFragmentNode():
                    yield from self._of(selection.type_condition, parent, selection)
                case FragmentSpreadNode():
                    fragment = self._fragments[selection.name.value]
                    yield from self._of(fragment.type_condition, parent, fragment)

    def _of(
        self, condition: Any, parent: GraphQLNamedType, owner: Any
    ) -> Iterator[tuple[GraphQLNamedType, FieldNode]]:
        named = None if condition is None else self._schema.get_type(condition.name.value)
        yield from self._fields(named or parent, owner.selection_set.selections)

    def _arguments(self, field: FieldNode) -> dict[str, Any]:
        """Return the arguments that say something; a single id is a list of one."""
        given = {
            one.name.value: value_from_ast_untyped(one.value, self._variables)
            for one in field.arguments or ()
        }
        stated = {name: one for name, one in given.items() if one not in (None, Undefined)}
        ids = stated.get("ids", [])
        return stated | {"ids": ids if isinstance(ids, list) else [ids]}


def _size(name: str, arguments: Mapping[str, Any]) -> int:
    """Return how many rows a list is asked for; execution refuses what is no size."""
    usual = LEADERBOARD_SIZE if name == "Query.leaderboard" else DEFAULT_SIZE
    size = arguments.get("first", arguments.get("last", usual))
    return min(MAX_SIZE, max(0, size)) if isinstance(size, int) else usual
