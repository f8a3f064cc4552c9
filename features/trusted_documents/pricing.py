"""The most that each operation of a document costs, as the server predicts it.

The cost of an operation depends on some of its variables. A variable without a given value has the
value with which the operation costs most, among those that its type allows: the longest list, the
most rows, a cursor, and the dearest value of an enum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import (
    ArgumentNode,
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputType,
    GraphQLInt,
    ListValueNode,
    VariableDefinitionNode,
    coerce_input_value,
    get_named_type,
    get_nullable_type,
    is_list_type,
)
from graphql.execution.get_variable_signature import get_variable_signature

from dal.model.rules import MAX_VALUES
from schema.execution.compiled.coercion import nodes_of, variables_in
from schema.execution.cost import Cost
from schema.execution.documents import CheckedDocument, CheckedOperation
from schema.execution.executable_schema import ExecutableSchema
from schema.execution.facts import SchemaFacts, Sorting
from schema.execution.input_errors import variable_errors

READ_PRICE = 0.125
"""The price in USD of a million read units: on demand in us-east-1, since 2024-11-01.
https://aws.amazon.com/dynamodb/pricing/on-demand/"""


@dataclass(frozen=True, slots=True)
class PricedOperation:
    """An operation of a document, and its maximum cost with ``variables``.

    ``refusal`` is the sentence with which the server refuses these variables; otherwise None.
    ``variables`` has only the variables that affect the cost, and those that were given.
    """

    document: str
    kind: str
    name: str
    variables: Mapping[str, Any]
    cost: Cost
    refusal: str | None

    @property
    def title(self) -> str:
        """The kind and the name of the operation, such as ``query Product``."""
        return f"{self.kind} {self.name}".rstrip()

    @property
    def key(self) -> tuple[str, str]:
        """What the operation has in common with an older version of itself."""
        return self.kind, self.name or self.document

    @property
    def warm(self) -> dict[str, float]:
        """The maximum cost in a process that has just run the operation."""
        return self.cost.rounded()["predicted"]

    @property
    def cold(self) -> dict[str, float]:
        """The maximum cost in any state of the process."""
        return self.cost.rounded()["predictedCold"]


def priced(
    schema: ExecutableSchema, document_id: str, text: str, given: Mapping[str, Any]
) -> Iterator[PricedOperation]:
    """Yield each operation of a document, priced with the variables in ``given``.

    Raises GraphQLError if the document does not fit the schema, exceeds a limit, or has a variable
    for which ``given`` has an invalid value.
    """
    document = schema.documents.checked(text)
    if document.errors:
        raise document.errors[0]
    for operation in document.operations:
        node = operation.node
        own = _coerced(schema, operation, given)
        variables = worst_variables(schema, document, operation, own)
        cost = operation.costs.cost(variables)
        yield PricedOperation(
            document_id,
            node.operation.value,
            node.name.value if node.name else "",
            variables | {name: given[name] for name in own},
            cost,
            cost.fault(schema.host.limits),
        )


def _coerced(
    schema: ExecutableSchema, operation: CheckedOperation, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the coerced values of those variables in ``given`` that an operation has."""
    core = schema.documents.schema
    for error in variable_errors(core, operation.node, given):
        for node in error.nodes or ():
            if isinstance(node, VariableDefinitionNode) and node.variable.name.value in given:
                raise error
    types = _types(schema, operation).items()
    return {name: coerce_input_value(given[name], of) for name, of in types if name in given}


def worst_variables(
    schema: ExecutableSchema,
    document: CheckedDocument,
    operation: CheckedOperation,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Return ``given``, and the dearest value of each other variable that affects the cost.

    If a variable can have several values, each of them is tried. The dearest value of one variable
    does not depend on the values of the others.
    """
    choices = {
        name: _choices(name, of, arguments, number, schema.facts)
        for number, (name, of) in enumerate(_types(schema, operation).items())
        if (arguments := _sizing(document, name, schema.facts)) and name not in given
    }
    values = {**given, **{name: few[0] for name, few in choices.items()}}
    for name, few in choices.items():
        costs = [(_figures(operation.costs.cost({**values, name: one})), one) for one in few]
        values[name] = max(costs, key=lambda pair: pair[0])[1]
    return values


def _figures(cost: Cost) -> tuple[float, float, float]:
    requests, rcu = cost.limit()
    return rcu, requests, cost.values


def _sizing(document: CheckedDocument, name: str, facts: SchemaFacts) -> list[ArgumentNode]:
    """Return the arguments that contain a variable, and whose value affects the cost."""
    return [
        node
        for node in nodes_of(document.document)
        if isinstance(node, ArgumentNode)
        and node.name.value in facts.sizing
        and name in variables_in(node)
    ]


def _types(schema: ExecutableSchema, operation: CheckedOperation) -> dict[str, GraphQLInputType]:
    """Return the type of each variable of an operation."""
    signatures = [
        get_variable_signature(schema.documents.schema, one)
        for one in operation.node.variable_definitions or ()
    ]
    return {one.name: one.type for one in signatures if not isinstance(one, GraphQLError)}


def _choices(
    name: str,
    of: GraphQLInputType,
    arguments: Sequence[ArgumentNode],
    number: int,
    facts: SchemaFacts,
) -> list[Any]:
    """Return values of a variable, one of which is the dearest.

    ``number`` is the number of the variable in the operation: if a list contains several variables,
    their values differ.
    """
    named = get_named_type(of)
    if not is_list_type(get_nullable_type(of)):
        if isinstance(named, GraphQLEnumType):
            return list(named.values)
        if named is GraphQLInt:
            in_list = any(isinstance(one.value, ListValueNode) for one in arguments)
            return [facts.limits.most_rows + number * in_list]
        return [True if named is GraphQLBoolean else name]
    if isinstance(named, GraphQLEnumType):
        return [list(named.values)]
    if named is GraphQLInt:
        return [list(range(1, 1 + max(_values_of(one.name.value, facts) for one in arguments)))]
    return [[f"{name} {one}" for one in range(1, 1 + MAX_VALUES)]]


def _values_of(argument: str, facts: SchemaFacts) -> int:
    """Return the number of values that a filter can have."""
    known = [
        one.filter_values
        for of_field in facts.arguments.values()
        for one in of_field.values()
        if isinstance(one, Sorting) and one.filter == argument
    ]
    return max(known, default=MAX_VALUES)
