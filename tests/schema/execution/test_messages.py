"""Messages about what a client sent are plain sentences: nothing of Python stands in them."""

import re
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    is_input_type,
    parse,
    type_from_ast,
)
from hypothesis import given
from hypothesis import strategies as st

from schema.build import build_schema
from tests.resolvers.recording import ask
from tests.strategies import MORE

SCHEMA = build_schema()._schema
PYTHON = re.compile(
    r"\b(None|True|False|nan|inf|isoformat|ISO string|int\(\)|str|dict|list|tuple|bytes|object at|"
    r"NoneType|\w+Error|__\w+__)\b|[{}]|<class|b'"
)

FIRST = 'query($x: Int) { product(productId: "1") { comments(first: $x) { nodes { id } } } }'
OF_ANN = 'user(username: "ann")'
DATES: tuple[object, ...] = ("x", 5, True, {}, [None], "2020-13-01", "TRUE")
AMOUNTS: tuple[object, ...] = (12.5, 12, None, True, "NaN", "1e3", "1_0", " 1", "\u0661", "")
CODES: tuple[object, ...] = ("eur", "EURO", "", 5, None, [])
FAULTY = {
    "null for what is needed": ("{ product(productId: null) { id } }", {}),
    "null in a list": ("query($x: [ID!]!) { nodes(ids: $x) { id } }", {"x": [None]}),
    "null for a variable": ("query($x: String!) { product(productId: $x) { id } }", {"x": None}),
    "no variable": ("query($x: String!) { product(productId: $x) { id } }", {}),
    "an object for an id": ("query($x: [ID!]!) { nodes(ids: $x) { id } }", {"x": {"a": None}}),
    "an object for an integer": (FIRST, {"x": {"a": True}}),
    "a large integer": (FIRST, {"x": 10**30}),
    "a large float": (FIRST, {"x": 1e300}),
    "a truth value": ("query($x: Boolean!) { __typename @skip(if: $x) }", {"x": "None"}),
    "no name of an enum": (
        "mutation($x: OrderStatus!) { setOrderStatus(input: {id: 1, status: $x}) { __typename } }",
        {"x": {"y": False}},
    ),
    "an input that is none": (
        "mutation($x: PlaceOrderInput!) { placeOrder(input: $x) { order { id } } }",
        {"x": {"lines": [None], "nothing": {"a": None}}},
    ),
    **{
        f"an amount {amount} of {currency}": (
            (
                'mutation($x: MoneyInput!) { placeOrder(input: {username: "a", lines: '
                '[{productId: "1", quantity: 1, unitPrice: $x}]}) { order { id } } }'
            ),
            {"x": {"amount": amount, "currencyCode": currency}},
        )
        for amount, currency in [
            *((one, "EUR") for one in AMOUNTS),
            *(("1", one) for one in CODES),
        ]
    },
    "a literal amount": (
        (
            'mutation { placeOrder(input: {username: "a", lines: [{productId: "1", quantity: 1, '
            "unitPrice: {amount: 12.50, currencyCode: EUR}}]}) { order { id } } }"
        ),
        {},
    ),
    **{
        f"a date {value}": (
            f"query($x: DateTime) {{ {OF_ANN} {{ orders(createdFrom: $x) {{ __typename }} }} }}",
            {"x": value},
        )
        for value in DATES
    },
    **{
        f"a literal date {value}": (
            f"{{ {OF_ANN} {{ orders(createdFrom: {value}) {{ __typename }} }} }}",
            {},
        )
        for value in ('"x"', "TRUE", "{a: null}", "[true]", "2020")
    },
}


@pytest.mark.parametrize(("operation", "variables"), FAULTY.values(), ids=FAULTY)
async def test_a_fault_of_the_client_is_told_in_plain_words(
    operation: str, variables: dict[str, object]
) -> None:
    _, errors = await ask(operation, **variables)
    assert errors
    for error in errors:
        assert error["extensions"]["code"] == "BAD_REQUEST"
        assert not PYTHON.search(error["message"]), error["message"]
        assert error["message"].endswith(".")


OPERATIONS = (
    *(
        f"mutation($input: {field.args['input'].type}) {{ {name}(input: $input)"
        " { userErrors { message } } }"
        for name, field in SCHEMA.mutation_type.fields.items()  # type: ignore[union-attr]
    ),
    (
        "query($rating: [Int!], $language: [String!], $first: Int, $after: String) {"
        ' product(productId: "1") {'
        " comments(rating: $rating, language: $language, first: $first, after: $after)"
        " { nodes { id } } } }"
    ),
    (
        "query($name: String!, $status: [OrderStatus!], $from: DateTime, $no: Boolean!) {"
        " user(username: $name) { orders(status: $status, createdFrom: $from) { nodes { id } } }"
        " __typename @skip(if: $no) }"
    ),
    "query($ids: [ID!]!) { nodes(ids: $ids) { id } }",
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("xy.", max_size=5),
    lambda below: (
        st.lists(below, max_size=2)
        | st.dictionaries(st.sampled_from(["x", "id", "lines"]), below, max_size=2)
    ),
    max_leaves=4,
)


def near(type_: GraphQLInputType) -> st.SearchStrategy[Any]:
    """Draw what a client might send for a type: what it is, or anything else, at any depth."""
    match type_:
        case GraphQLNonNull():
            return near(type_.of_type)
        case GraphQLList():
            return JUNK | st.lists(near(type_.of_type), max_size=2)
        case GraphQLInputObjectType():
            fields = {name: near(field.type) for name, field in type_.fields.items()}
            return JUNK | st.fixed_dictionaries({}, optional=fields)
        case GraphQLEnumType():
            return JUNK | st.sampled_from(sorted(type_.values))
    return JUNK


def variables_of(operation: str) -> st.SearchStrategy[dict[str, Any]]:
    (definition,) = parse(operation).definitions
    types = {
        one.variable.name.value: type_from_ast(SCHEMA, one.type)
        for one in definition.variable_definitions  # type: ignore[attr-defined]
    }
    return st.fixed_dictionaries(
        {}, optional={name: near(one) for name, one in types.items() if is_input_type(one)}
    )


@MORE
@given(st.sampled_from(OPERATIONS).flatmap(lambda one: st.tuples(st.just(one), variables_of(one))))
async def test_whatever_variables_hold_no_message_speaks_python(
    drawn: tuple[str, dict[str, Any]],
) -> None:
    operation, variables = drawn
    _, errors = await ask(operation, **variables)
    told = [one["message"] for one in errors if one["extensions"]["code"] == "BAD_REQUEST"]
    assert not [message for message in told if PYTHON.search(message)]


def test_every_mutation_is_asked() -> None:
    assert isinstance(SCHEMA.mutation_type, GraphQLObjectType)
    assert len(OPERATIONS) == len(SCHEMA.mutation_type.fields) + 3
