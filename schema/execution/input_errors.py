"""Errors about invalid values from clients. Each error names the argument or the variable.

graphql-core's own messages do not name the argument, and show values as Python literals.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphql import (
    SKIP,
    ArgumentNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInt,
    GraphQLSchema,
    ListValueNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    Undefined,
    ValueNode,
    VariableDefinitionNode,
    VisitorAction,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
    print_ast,
)
from graphql.execution.get_variable_signature import get_variable_signature
from graphql.utilities import validate_input_literal, validate_input_value
from graphql.validation import ValuesOfCorrectTypeRule

_MAX_ERRORS = 50
"""After this many errors in a request's variables, the remaining variables are not checked."""

_MAX_SHOWN = 60
"""Maximum characters of a value in a message."""

_FORMS = {
    "DateTime": ' with an offset, such as "2024-12-01T00:00:00Z"',
    "Decimal": ', such as "12.50"',
    "CurrencyCode": ', such as "EUR"',
}
"""Words that a message adds after the name of a scalar, to explain its form."""


class ValueRule(ValuesOfCorrectTypeRule):
    """graphql-core's validation rule for literals, with messages that name the argument."""

    _place = ""

    def enter_argument(self, node: ArgumentNode, *_: Any) -> None:
        """Remember the argument to which the next value belongs."""
        self._place = node.name.value

    def enter_variable_definition(self, node: VariableDefinitionNode, *_: Any) -> None:
        """Remember the variable to which the next default value belongs."""
        self._place = f"${node.variable.name.value}"

    def is_valid_value_node(
        self, node: ValueNode, input_type: GraphQLInputType | None
    ) -> VisitorAction:
        """Report the errors in a value and in all its parts."""
        if input_type is not None:

            def report(error: GraphQLError, path: Sequence[str | int]) -> None:
                literal = _literal_at(node, path)
                message = _message(self._place, path, input_type, error, literal)
                self.report_error(GraphQLError(message, literal))

            validate_input_literal(node, input_type, report)
        return SKIP


def variable_errors(
    schema: GraphQLSchema, operation: OperationDefinitionNode, inputs: Mapping[str, Any]
) -> list[GraphQLError]:
    """Return the errors of a request's variables, at most 50."""
    errors: list[GraphQLError] = []
    for node in operation.variable_definitions or ():
        signature = get_variable_signature(schema, node)
        if isinstance(signature, GraphQLError):
            continue
        value = inputs.get(signature.name, Undefined)
        if value is Undefined and (node.default_value or not is_non_null_type(signature.type)):
            continue

        def report(
            error: GraphQLError,
            path: Sequence[str | int],
            place: str = f"${signature.name}",
            node: Node = node,
            value: Any = value,
            type_: GraphQLInputType = signature.type,
        ) -> None:
            found = value
            for key in path:
                found = found[key]
            errors.append(GraphQLError(_message(place, path, type_, error, found), node))
            if len(errors) == _MAX_ERRORS:
                raise OverflowError

        try:
            validate_input_value(value, signature.type, report)
        except OverflowError:
            break
    return errors


def _message(
    place: str,
    path: Sequence[str | int],
    type_: GraphQLInputType,
    error: GraphQLError,
    value: object,
) -> str:
    """Return the message for an invalid input value.

    ``place`` is the name of the variable or argument, and ``type_`` its type. ``path`` leads from
    the whole value to its invalid part. ``value`` is this part, and ``error`` is graphql-core's
    error.
    """
    for key in path:
        nullable: Any = get_nullable_type(type_)
        # A client may send a list of one value without brackets. The path then has no index for the
        # list, so skip the list type.
        while is_list_type(nullable) and isinstance(key, str):
            nullable = get_nullable_type(nullable.of_type)
        type_ = nullable.fields[key].type if isinstance(key, str) else nullable.of_type
    expected, where = get_named_type(type_), ".".join(map(str, (place, *path)))
    if isinstance(expected, GraphQLInputObjectType) and isinstance(value, dict | ObjectValueNode):
        # If an object lacks a field or has an unknown field, graphql-core's message ends with the
        # whole object. This end is cut off.
        reason = error.message.partition(", found: ")[0].partition(" Found: ")[0]
        end = "" if reason.endswith(("?", ".")) else "."
        return f"{where}: {reason[:1].lower()}{reason[1:]}{end}"
    form = _FORMS.get(expected.name, "")
    if isinstance(expected, GraphQLEnumType):
        form = f" ({' or '.join(expected.values)})"
    shown = _shown(value)
    if expected is GraphQLInt and shown.removeprefix("-").isdecimal():
        form = " of 32 bits"  # https://spec.graphql.org/October2021/#sec-Int
    return f"{where}: expected {expected.name}{form}, got {shown}."


def _literal_at(node: ValueNode, path: Sequence[str | int]) -> ValueNode:
    for key in path:
        if isinstance(node, ListValueNode) and isinstance(key, int):
            node = node.values[key]
        elif isinstance(node, ObjectValueNode):
            node = next(field.value for field in node.fields if field.name.value == key)
    return node


def _shown(value: object) -> str:
    """Return a value as a message shows it, shortened to 60 characters."""
    if value is Undefined:
        return "nothing"
    if isinstance(value, dict | ObjectValueNode):
        return "an object"
    if isinstance(value, list | ListValueNode):
        return "a list"
    text = print_ast(value) if isinstance(value, Node) else json.dumps(value, ensure_ascii=False)
    text = text.encode("utf-8", "replace").decode()  # a response cannot contain a lone surrogate
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
