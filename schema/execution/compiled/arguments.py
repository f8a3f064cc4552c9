"""Arguments of a field, coerced when compiling as far as no variable decides."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLError,
    GraphQLField,
    NameNode,
    Node,
    ValueNode,
    VariableNode,
    get_argument_values,
    is_non_null_type,
    is_required_argument,
)
from graphql.execution.values import VariableValues

NO_VARIABLES = VariableValues({}, {})
_BARE = FieldNode(name=NameNode(value="bare"), arguments=())


def has_variables(node: Node | None) -> bool:
    """Return whether a variable stands anywhere in a node."""
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, VariableNode):
            return True
        if isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, Node):
            waiting += [getattr(one, key, None) for key in one.keys if key != "loc"]
    return False


class Arguments:
    """The arguments of one field of a document; ``values`` are what its resolver takes.

    Lists and input objects are made for each request: their resolver may change them.
    """

    def __init__(self, field: GraphQLField, node: FieldNode) -> None:
        self._field = field
        self._node = node
        self._constant: dict[str, Any] = {}
        self._variables: list[tuple[str, str, bool, dict[str, Any] | None]] = []
        self._others: list[GraphQLField] = []
        stated = {one.name.value: one.value for one in node.arguments or ()}
        for name, argument in field.args.items():
            self._add(name, argument, stated.get(name))

    def values(self, variables: VariableValues) -> dict[str, Any]:
        """Return the coerced arguments; GraphQLError where they are none."""
        values = self._constant.copy()
        coerced = variables.coerced
        for name, variable, required, default in self._variables:
            value = coerced.get(variable)
            if value is not None or (variable in coerced and not required):
                values[name] = value
            elif variable not in coerced and default is not None:
                values.update(default)
            else:
                return get_argument_values(self._field, self._node, variables)
        if not self._others:
            return values
        try:
            for one in self._others:
                values.update(get_argument_values(one, self._node, variables))
        except GraphQLError:  # the first one's in the schema's order is told
            return get_argument_values(self._field, self._node, variables)
        return values

    def _add(self, name: str, argument: GraphQLArgument, stated: ValueNode | None) -> None:
        alone = GraphQLField(self._field.type, {name: argument})
        if isinstance(stated, VariableNode):
            default = None if is_required_argument(argument) else _coerced(alone, _BARE)
            nonnull = is_non_null_type(argument.type)
            self._variables.append((argument.out_name or name, stated.name.value, nonnull, default))
            return
        value = None if has_variables(stated) else _coerced(alone, self._node)
        if value is None or any(isinstance(one, list | dict) for one in value.values()):
            self._others.append(alone)
        else:
            self._constant.update(value)


def _coerced(field: GraphQLField, node: FieldNode) -> dict[str, Any] | None:
    """Return arguments that no variable decides; None where they cannot be kept."""
    try:
        values = get_argument_values(field, node, NO_VARIABLES)
    except GraphQLError:
        return None
    return values


Conversions = Mapping[str, tuple[str, bool]]
"""What each argument is called in Python, and whether it is a list that every call gets anew."""


def converted(values: dict[str, Any], conversions: Conversions) -> dict[str, Any]:
    """Return coerced arguments as keywords of a resolver."""
    keywords = {}
    for name, value in values.items():
        keyword, listed = conversions[name]
        keywords[keyword] = list(value) if listed and value is not None else value
    return keywords
