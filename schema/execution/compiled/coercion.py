"""Coercion: converts variables, arguments and leaf values to their types in the schema.

graphql-core decides in every request how to convert each value. This module decides it once for
each operation, and returns functions that convert the values of a request. graphql-core still
handles invalid and unusual values, and writes all error messages.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from graphql import (
    FieldNode,
    GraphQLBoolean,
    GraphQLError,
    GraphQLField,
    GraphQLID,
    GraphQLInputObjectType,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLOutputType,
    GraphQLSchema,
    GraphQLString,
    Node,
    Undefined,
    VariableDefinitionNode,
    VariableNode,
    get_argument_values,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_input_object_type,
    is_list_type,
    is_non_null_type,
    is_required_input_field,
)
from graphql.execution.get_variable_signature import get_variable_signature
from graphql.execution.values import VariableValues, VariableValueSource, coerce_argument
from graphql.pyutils import is_awaitable
from graphql.utilities.coerce_input_value import coerce_default_value

NO_VARIABLES = VariableValues({}, {})


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield a node and every node below it.

    The function is not recursive, because clients can send deeply nested documents.
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

    The function takes the operation's coerced variables, and raises GraphQLError for an invalid
    value. Usually, constants (arguments without a variable) are coerced only once. If a constant is
    a list or an input object, all arguments are coerced in each call, because a resolver may change
    the list or the object.
    """

    def coerced(variables: VariableValues) -> dict[str, Any]:
        return get_argument_values(field, node, variables)

    given = {argument.name.value: argument for argument in node.arguments or ()}
    named = {
        name: argument.value.name.value
        for name, argument in given.items()
        if isinstance(argument.value, VariableNode)
    }
    constants = {name: given[name] for name in given.keys() - named.keys()}
    if any(map(variables_in, constants.values())):
        return coerced
    strict = {name for name in named if is_non_null_type(field.args[name].type)}
    defaults: dict[str, Any] = {}
    try:
        for name in field.args.keys() - strict:
            argument = constants.get(name)
            coerce_argument(defaults, node, name, field.args[name], argument, NO_VARIABLES, None)
    except GraphQLError:
        return coerced
    if any(isinstance(value, list | dict) for value in defaults.values()):
        return coerced
    passed = [
        (field.args[name].out_name or name, variable, name in strict)
        for name, variable in named.items()
    ]

    def prepared(variables: VariableValues) -> dict[str, Any]:
        values = defaults.copy()
        for name, variable, required in passed:
            value = variables.coerced.get(variable, Undefined)
            if required and (value is None or value is Undefined):
                return coerced(variables)
            if value is not Undefined:
                values[name] = value
        return values

    return prepared


def variables_of(
    schema: GraphQLSchema, definitions: Collection[VariableDefinitionNode]
) -> Callable[[Mapping[str, Any]], VariableValues | None]:
    """Return a function that coerces an operation's variables.

    The function takes the variables of a request. It returns None if graphql-core must coerce them,
    because a variable needs its default, a leaf value needs a conversion, or a value is invalid or
    missing.
    """
    declared = []
    for node in definitions:
        signature = get_variable_signature(schema, node)
        if isinstance(signature, GraphQLError):
            return lambda _: None
        optional = node.default_value is None and not is_non_null_type(signature.type)
        declared.append((signature, _coercion(signature.type), optional))

    def coerced(inputs: Mapping[str, Any]) -> VariableValues | None:
        values = VariableValues({}, {})
        for signature, coerce, optional in declared:
            value = inputs.get(signature.name, Undefined)
            if value is Undefined and optional:
                values.sources[signature.name] = VariableValueSource(signature)
            elif value is not Undefined and (found := coerce(value)) is not Undefined:
                values.sources[signature.name] = VariableValueSource(signature, value)
                values.coerced[signature.name] = found
            else:
                return None
        return values

    return coerced


def _coercion(type_: Any) -> Callable[[Any], Any]:
    """Return a function that coerces a value. It returns Undefined if graphql-core must coerce it.

    graphql-core coerces all lists of input objects.
    """
    nullable: Any = get_nullable_type(type_)
    of_null = None if nullable is type_ else Undefined
    if is_enum_type(nullable):
        members = {None: of_null}
        members |= {name: nullable.coerce_input_value(name) for name in nullable.values}
        # Values of other classes may be unhashable.
        return lambda value: members.get(value, Undefined) if type(value) in _NAMES else Undefined
    if not is_input_object_type(get_named_type(type_)):
        text = f"lambda value: value if {usual_value(type_, 'value')} else Undefined"
        function: Callable[[Any], Any] = eval(text)  # noqa: S307 - the text contains nothing from a client
        return function
    if is_list_type(nullable) or nullable.is_one_of:
        return lambda value: of_null if value is None else Undefined
    return _object_coercion(nullable, of_null)


def _object_coercion(type_: GraphQLInputObjectType, of_null: Any) -> Callable[[Any], Any]:
    fields: list[tuple[str, Callable[[Any], Any], Any]] = []
    required = {name for name, of in type_.fields.items() if is_required_input_field(of)}

    def coerced(value: Any) -> Any:
        if type(value) is not dict:
            return of_null if value is None else Undefined
        if not required <= value.keys() <= type_.fields.keys():
            return Undefined
        if not fields:  # not before the first value, because a type can contain itself
            for name, of in type_.fields.items():
                fields.append((name, _coercion(of.type), coerce_default_value(of)))
        values = {}
        for name, coerce, default in fields:
            if name in value:
                values[name] = coerce(value[name])
                if values[name] is Undefined:
                    return Undefined
            elif default is not Undefined:
                values[name] = default
        return values

    return coerced


_NAMES = {str, type(None)}

_INT = " and -2147483648 <= {0} <= 2147483647"
"""GraphQL's Int has 32 bits: https://spec.graphql.org/October2021/#sec-Int"""

_EXACT: dict[Any, tuple[type, str]] = {
    GraphQLString: (str, ""),
    GraphQLID: (str, ""),
    GraphQLBoolean: (bool, ""),
    GraphQLInt: (int, _INT),
}
"""For each built-in scalar of GraphQL except Float: the Python class of the values that need no
conversion, and a further condition on these values, as Python text. The text may be empty."""


class AnomalyError(Exception):
    """A leaf value is null, an exception or awaitable.

    graphql-core must then execute the whole selection set for the object that has this value.
    """


def exact_class(type_: GraphQLOutputType) -> type | None:
    """Return the Python class of the values that a GraphQL type returns unchanged, such as ``str``.

    Return None if there is no such class. Int has none, because GraphQL's Int excludes large
    integers.
    """
    exact, condition = _EXACT.get(get_nullable_type(type_), (None, ""))
    return None if condition else exact


def usual_value(type_: Any, name: str) -> str:
    """Return a Python expression that is true if the variable ``name`` needs no conversion."""
    conditions = [] if is_non_null_type(type_) else [f"{name} is None"]
    type_, item = get_nullable_type(type_), f"{name}_"
    exact, condition = _EXACT.get(type_, (None, ""))
    if exact:
        conditions.append(f"type({name}) is {exact.__name__}{condition.format(name)}")
    elif is_list_type(type_):
        usual = f"all([{usual_value(type_.of_type, item)} for {item} in {name}])"
        conditions.append(f"type({name}) is list and {usual}")
    return f"({' or '.join(conditions) or 'False'})"


@dataclass(slots=True)
class Leaf:
    """A field of a scalar or an enum. The field's value is an attribute of its object."""

    attribute: str
    declared: GraphQLOutputType
    coerce: Callable[[Any], Any] = field(init=False)
    """Converts a value. Raises the scalar's exception if the scalar cannot convert the value."""
    usual: type[Any] = field(init=False, default=AnomalyError)
    """The last class whose values ``check_value`` has accepted."""

    def __post_init__(self) -> None:
        leaf = cast("GraphQLLeafType", get_nullable_type(self.declared))
        self.coerce = cast("Callable[[Any], Any]", leaf.coerce_output_value)

    def check_value(self, value: Any) -> None:
        """Raise AnomalyError if the value is null, an exception or awaitable."""
        if value is None or value is Undefined or isinstance(value, Exception):
            raise AnomalyError
        if is_awaitable(value):
            raise AnomalyError
        self.usual = type(value)

    def check_result(self, result: Any) -> None:
        """Raise AnomalyError if the converted value is null or awaitable."""
        if result is None or result is Undefined or is_awaitable(result):
            raise AnomalyError
