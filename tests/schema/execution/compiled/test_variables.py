"""Variables are coerced as graphql-core coerces them, and their faults are told in its words."""

from typing import Any

from graphql import build_schema, parse
from graphql.execution import get_variable_values

from schema.execution.compiled.coercion import Variables
from schema.execution.selections import operations_of

SCHEMA = build_schema(
    "input Box { n: Int = 3, boxes: [Box!] } enum Colour { RED } "
    "type Query { f(box: Box, colour: Colour): Int }"
)
TYPES = {
    "Int": ("3", "null"),
    "Int!": ("3",),
    "[Int!]": ("[1, 2]", "4", "null"),
    "[Int]!": ("[1, null]",),
    "[[Int]]": ("[[1]]",),
    "Box": ("{boxes: {n: 1}}",),
    "Colour!": ("RED",),
    "String": ('"s"',),
}
VALUES: tuple[Any, ...] = (
    None,
    1,
    2.0,
    2**31,
    True,
    "s",
    "RED",
    [],
    [1, None],
    ["s"],
    [[2]],
    {},
    {"n": 7},
    {"x": 1},
)


def told(values: Any) -> Any:
    """Return the values by variable and whence they are, or the errors as clients see them."""
    if isinstance(values, list):
        return [(one.formatted, repr(one.original_error)) for one in values]
    given = {name: repr(source.value) for name, source in values.sources.items()}
    return repr(values.coerced), given


def test_any_type_default_and_value() -> None:
    compared = 0
    for type_, defaults in TYPES.items():
        for default in (None, *defaults):
            declared = f"$x: {type_}" + (f" = {default}" if default else "")
            (operation,) = operations_of(parse(f"query ({declared}, $y: Int) {{ __typename }}"))
            variables = Variables(SCHEMA, operation)
            for inputs in ({}, *({"x": one, "y": 1} for one in VALUES)):
                expected = get_variable_values(
                    SCHEMA, operation.variable_definitions or (), inputs, max_errors=50
                )
                assert told(variables.values(inputs)) == told(expected), (declared, inputs)
                compared += 1
    assert compared > 200


def test_a_resolver_may_change_a_default() -> None:
    (operation,) = operations_of(parse("query ($x: [Int] = [1]) { __typename }"))
    variables = Variables(SCHEMA, operation)
    for _ in range(2):
        values = variables.values({})
        assert not isinstance(values, list)
        assert values.coerced == {"x": [1]}
        values.coerced["x"].append(2)
