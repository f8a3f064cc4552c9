"""Coercion of arguments and leaves, prepared once for each operation.

graphql-core coerces arguments and leaves again in every request. This module leaves unusual cases,
and the texts of all errors, to graphql-core.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from graphql import (
    FieldNode,
    GraphQLBoolean,
    GraphQLError,
    GraphQLField,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLOutputType,
    GraphQLString,
    Node,
    Undefined,
    VariableNode,
    get_argument_values,
    get_nullable_type,
    is_non_null_type,
)
from graphql.execution.values import VariableValues
from graphql.pyutils import is_awaitable

NO_VARIABLES = VariableValues({}, {})


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield a node and every node below it.

    It uses no recursion, because a client can nest deeply.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for key in node.keys:
            child = getattr(node, key, None)
            children = child if isinstance(child, list | tuple) else [child]
            waiting += [below for below in children if isinstance(below, Node)]


def variables_in(root: Node) -> set[str]:
    """Return the names of the variables in a node and below it."""
    return {node.name.value for node in nodes_of(root) if isinstance(node, VariableNode)}


def arguments_of(
    field: GraphQLField, node: FieldNode
) -> Callable[[VariableValues], dict[str, Any]]:
    """Return a function that coerces a field's arguments.

    Raise GraphQLError for an invalid constant. Constants are coerced once, except lists and input
    objects. A resolver may change a list or an input object, so each request gets a new one.
    """

    def coerced(variables: VariableValues) -> dict[str, Any]:
        return get_argument_values(field, node, variables)

    if any(map(variables_in, node.arguments or ())):
        return coerced
    try:
        constant = get_argument_values(field, node, NO_VARIABLES)
    except GraphQLError:
        return coerced
    if any(isinstance(value, list | dict) for value in constant.values()):
        return coerced
    return lambda _: constant


_INT = " and -2147483648 <= {0} <= 2147483647"
"""GraphQL's Int has 32 bits: https://spec.graphql.org/October2021/#sec-Int"""

_EXACT: dict[Any, tuple[type, str]] = {
    GraphQLString: (str, ""),
    GraphQLID: (str, ""),
    GraphQLBoolean: (bool, ""),
    GraphQLInt: (int, _INT),
}
"""For each scalar of GraphQL: the Python class that needs no conversion, and a further
condition."""


class AnomalyError(Exception):
    """A value that graphql-core's executor must handle, because it is not of the usual class."""


def exact_class(type_: GraphQLOutputType) -> type | None:
    """Return the Python class whose values need no conversion for a GraphQL type, or None."""
    exact, condition = _EXACT.get(get_nullable_type(type_), (None, ""))
    return None if condition else exact


@dataclass(slots=True)
class Leaf:
    """A field without a selection. Its value is an attribute of its object."""

    attribute: str
    declared: GraphQLOutputType
    _leaf: GraphQLLeafType = field(init=False)
    _coerce: Callable[[Any], Any] = field(init=False)
    _last_class: type[Any] = field(init=False, default=AnomalyError)

    def __post_init__(self) -> None:
        self._leaf = cast("GraphQLLeafType", get_nullable_type(self.declared))
        self._coerce = cast("Callable[[Any], Any]", self._leaf.coerce_output_value)

    def unusual(self, name: str) -> str:
        """Return a Python condition that is true if the value named ``name`` needs a conversion."""
        exact, condition = _EXACT.get(self._leaf, (None, ""))
        usual = [] if is_non_null_type(self.declared) else [f"{name} is None"]
        if exact:
            usual.append(f"type({name}) is {exact.__name__}{condition.format(name)}")
        return f"not ({' or '.join(usual)})" if usual else "True"

    def result(self, value: Any) -> Any:
        """Convert a value, and return the result. Raise any exception for an unusual value."""
        if type(value) is not self._last_class:
            if value is None or value is Undefined or isinstance(value, Exception):
                raise AnomalyError
            if is_awaitable(value):
                raise AnomalyError
            self._last_class = type(value)
        result = self._coerce(value)
        if type(result) is not str and (
            result is None or result is Undefined or is_awaitable(result)
        ):
            raise AnomalyError
        return result
