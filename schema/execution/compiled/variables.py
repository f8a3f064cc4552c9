"""Variables of an operation: their names, types and defaults follow from the document.

graphql-core finds them anew in every request. What it says of a value at fault is its own to say.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from graphql import (
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    Undefined,
    VariableDefinitionNode,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
)
from graphql.execution import get_variable_values
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import VariableValues, VariableValueSource
from graphql.utilities import coerce_input_literal, coerce_input_value

_MAX_ERRORS = 50
"""What graphql-core tells of one request, unless it is told otherwise."""


class _Variable(NamedTuple):
    signature: GraphQLVariableSignature
    required: bool
    coerce: Callable[[Any], Any]
    """Returns the value of what is given and not null; it fails, or returns Undefined."""
    default: Any


class Variables:
    """The variables that an operation defines."""

    def __init__(self, schema: GraphQLSchema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._nodes = operation.variable_definitions or ()
        self._known: list[_Variable] | None = []
        for node in self._nodes:
            known = _known(schema, node)
            if known is None:
                self._known = None
                break
            self._known.append(known)

    def values(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Return the coerced values of a request, or what is wrong with them."""
        return self._coerced(inputs) or get_variable_values(
            self._schema, self._nodes, dict(inputs), max_errors=_MAX_ERRORS
        )

    def _coerced(self, inputs: Mapping[str, Any]) -> VariableValues | None:
        """Return the values; None where one is at fault, or not known by its type alone."""
        if self._known is None:
            return None
        sources, coerced = {}, {}
        for signature, required, coerce, default in self._known:
            name = signature.name
            given = inputs.get(name, Undefined)
            sources[name] = VariableValueSource(signature, given)
            if given is None or given is Undefined:
                value = default if given is Undefined else None
                if required and (value is None or value is Undefined):
                    return None
            else:
                try:
                    value = coerce(given)
                except Exception:  # noqa: BLE001 - as graphql-core: each is a fault of the value
                    return None
                if value is Undefined:
                    return None
            if value is not Undefined:
                coerced[name] = value
        return VariableValues(sources, coerced)


def _known(schema: GraphQLSchema, node: VariableDefinitionNode) -> _Variable | None:
    """Return a variable of leaves or of lists of them; None for any other."""
    signature = get_variable_signature(schema, node)
    if isinstance(signature, GraphQLError):
        return None
    type_: Any = get_nullable_type(signature.type)
    default = Undefined
    if node.default_value is not None:
        default = coerce_input_literal(node.default_value, signature.type)
        if default is Undefined or isinstance(default, list | dict):  # each request has its own
            return None
    required = is_non_null_type(signature.type)
    if is_leaf_type(type_):
        return _Variable(signature, required, type_.coerce_input_value, default)
    if is_list_type(type_) and is_leaf_type(get_nullable_type(type_.of_type)):
        return _Variable(signature, required, partial(coerce_input_value, type_=type_), default)
    return None
