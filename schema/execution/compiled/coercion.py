"""Coercion of variables, arguments and leaves, prepared once for each operation.

graphql-core coerces each of them again in every request. It keeps the unusual cases, and it words
every error.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLError,
    GraphQLField,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLOutputType,
    GraphQLSchema,
    GraphQLString,
    NameNode,
    Node,
    OperationDefinitionNode,
    Undefined,
    ValueNode,
    VariableDefinitionNode,
    VariableNode,
    get_argument_values,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_required_argument,
)
from graphql.execution import get_variable_values
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import VariableValues, VariableValueSource
from graphql.pyutils import is_awaitable
from graphql.utilities import coerce_input_literal, coerce_input_value

NO_VARIABLES = VariableValues({}, {})

_MAX_ERRORS = 50
"""graphql-core's default number of errors for the variables of one request."""


class _Variable(NamedTuple):
    signature: GraphQLVariableSignature
    required: bool
    coerce: Callable[[Any], Any]
    """Coerces an input that is not null; raises, or returns Undefined, for an invalid one."""
    default: Any


class Variables:
    """The variables of an operation."""

    def __init__(self, schema: GraphQLSchema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._nodes = operation.variable_definitions or ()
        known = [_variable(schema, node) for node in self._nodes]
        self._plain = [variable for variable in known if variable is not None]
        self._all_plain = len(self._plain) == len(known)

    def values(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Return the coerced variables of a request, or their errors."""
        coerced = self._coerced(inputs) if self._all_plain else None
        return coerced or get_variable_values(
            self._schema, self._nodes, dict(inputs), max_errors=_MAX_ERRORS
        )

    def _coerced(self, inputs: Mapping[str, Any]) -> VariableValues | None:
        """Return the coerced variables; None if one is invalid: graphql-core words the error."""
        sources, coerced = {}, {}
        for signature, required, coerce, default in self._plain:
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
                except Exception:  # noqa: BLE001 - graphql-core also takes each for an invalid value
                    return None
                if value is Undefined:
                    return None
            if value is not Undefined:
                coerced[name] = value
        return VariableValues(sources, coerced)


def _variable(schema: GraphQLSchema, node: VariableDefinitionNode) -> _Variable | None:
    """Return a variable of a leaf type or of a list of leaves; None for any other."""
    signature = get_variable_signature(schema, node)
    if isinstance(signature, GraphQLError):
        return None
    type_: Any = get_nullable_type(signature.type)
    default = Undefined
    if node.default_value is not None:
        default = coerce_input_literal(node.default_value, signature.type)
        # A resolver may change a list, so requests cannot share it.
        if default is Undefined or isinstance(default, list | dict):
            return None
    required = is_non_null_type(signature.type)
    if is_leaf_type(type_):
        return _Variable(signature, required, type_.coerce_input_value, default)
    if is_list_type(type_) and is_leaf_type(get_nullable_type(type_.of_type)):
        return _Variable(signature, required, partial(coerce_input_value, type_=type_), default)
    return None


def has_variables(node: Node | None) -> bool:
    """Return whether a node or a node below it is a variable."""
    waiting: list[Any] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, VariableNode):
            return True
        if isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, Node):
            waiting += [getattr(item, key, None) for key in item.keys if key != "loc"]
    return False


_WITHOUT_ARGUMENTS = FieldNode(name=NameNode(value="field"), arguments=())


class Arguments:
    """The arguments of one field of a document.

    Constants are coerced once, except lists and input objects: a resolver may change these, so each
    request gets its own.
    """

    def __init__(self, field: GraphQLField, node: FieldNode) -> None:
        self._field = field
        self._node = node
        self._constant: dict[str, Any] = {}
        self._variables: list[tuple[str, str, bool, dict[str, Any] | None]] = []
        self._others: list[GraphQLField] = []
        literals = {argument.name.value: argument.value for argument in node.arguments or ()}
        for name, argument in field.args.items():
            self._add(name, argument, literals.get(name))

    def _add(self, name: str, argument: GraphQLArgument, literal: ValueNode | None) -> None:
        alone = GraphQLField(self._field.type, {name: argument})
        if isinstance(literal, VariableNode):
            default = (
                None if is_required_argument(argument) else _constant(alone, _WITHOUT_ARGUMENTS)
            )
            nonnull = is_non_null_type(argument.type)
            out_name = argument.out_name or name
            self._variables.append((out_name, literal.name.value, nonnull, default))
            return
        values = None if has_variables(literal) else _constant(alone, self._node)
        if values is None or any(isinstance(value, list | dict) for value in values.values()):
            self._others.append(alone)
        else:
            self._constant.update(values)

    def values(self, variables: VariableValues) -> dict[str, Any]:
        """Return the coerced arguments, or raise GraphQLError."""
        values = self._constant.copy()
        coerced = variables.coerced
        for name, variable, nonnull, default in self._variables:
            value = coerced.get(variable)
            if value is not None or (variable in coerced and not nonnull):
                values[name] = value
            elif variable not in coerced and default is not None:
                values.update(default)
            else:
                return get_argument_values(self._field, self._node, variables)
        if not self._others:
            return values
        try:
            for field in self._others:
                values.update(get_argument_values(field, self._node, variables))
        except GraphQLError:  # raise the error of the argument that comes first in the schema
            return get_argument_values(self._field, self._node, variables)
        return values


def _constant(field: GraphQLField, node: FieldNode) -> dict[str, Any] | None:
    """Return the coerced arguments of a field without variables; None if they are invalid."""
    try:
        return get_argument_values(field, node, NO_VARIABLES)
    except GraphQLError:
        return None


_INT = " and -2147483648 <= {0} <= 2147483647"
"""GraphQL's Int has 32 bits: https://spec.graphql.org/October2021/#sec-Int"""

_EXACT: dict[Any, tuple[type, str]] = {
    GraphQLString: (str, ""),
    GraphQLID: (str, ""),
    GraphQLBoolean: (bool, ""),
    GraphQLInt: (int, _INT),
}
"""For each scalar of GraphQL the class of values that are results already, and a further
condition."""


class AnomalyError(Exception):
    """An unusual value: graphql-core's executor decides what becomes of it."""


def exact_class(type_: GraphQLOutputType) -> type | None:
    """Return the class of values that are results of a type already; None without such a class."""
    exact, condition = _EXACT.get(get_nullable_type(type_), (None, ""))
    return None if condition else exact


@dataclass(slots=True)
class Leaf:
    """A field without selection that is an attribute of its object."""

    attribute: str
    declared: GraphQLOutputType
    _leaf: GraphQLLeafType = field(init=False)
    _coerce: Callable[[Any], Any] = field(init=False)
    _last_class: type[Any] = field(init=False, default=AnomalyError)

    def __post_init__(self) -> None:
        self._leaf = cast("GraphQLLeafType", get_nullable_type(self.declared))
        self._coerce = cast("Callable[[Any], Any]", self._leaf.coerce_output_value)

    def unusual(self, name: str) -> str:
        """Return the Python condition under which the value ``name`` is not a result already."""
        exact, condition = _EXACT.get(self._leaf, (None, ""))
        usual = [] if is_non_null_type(self.declared) else [f"{name} is None"]
        if exact:
            usual.append(f"type({name}) is {exact.__name__}{condition.format(name)}")
        return f"not ({' or '.join(usual)})" if usual else "True"

    def result(self, value: Any) -> Any:
        """Return the result of a value, or raise any exception for an unusual value."""
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
