"""Messages about a client's input are plain sentences, without words of Python."""

import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import pytest
import strawberry
from graphql import (
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    is_input_type,
    is_leaf_type,
    parse,
    type_from_ast,
    validate,
)
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.errors import QueryTooCostlyError
from schema.build import HOST, build_schema
from schema.execution.compiled.answer_size import AnswerSize
from schema.execution.documents import faults_of_variables
from schema.execution.errors import client_error, client_errors
from schema.execution.executable_schema import MAX_RESPONSE, ExecutableSchema
from schema.execution.input_errors import ValueRule, variable_errors
from schema.execution.selections import operations_of
from tests.resolvers.recording import ask
from tests.schema.documents import chain
from tests.strategies import MORE

BUILT = build_schema()
SCHEMA, CACHE = BUILT._schema, BUILT.documents
STRING = re.compile(r'"(\\.|[^"\\])*["…]')
PYTHON = re.compile(
    r"\b(None|True|False|nan|inf|isoformat|ISO string|int\(\)|str|dict|tuple|bytes|object at|"
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
    "null for a variable": ("query($x: ID!) { product(productId: $x) { id } }", {"x": None}),
    "no variable": ("query($x: ID!) { product(productId: $x) { id } }", {}),
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


OFFSET = 'DateTime with an offset, such as "2024-12-01T00:00:00Z"'
PAGE = '{ product(productId: "1") { comments(%s) { nodes { id } } } }'
ADD = 'mutation { addComment(input: {productId: "1", %s}) { userErrors { code } } }'
NAMED = {
    "{ author(username: 5) { id } }": "username: expected String, got 5.",
    "{ product(productId: {a: 5}) { id } }": "productId: expected ID, got an object.",
    "{ node(id: null) { id } }": "id: expected ID, got null.",
    "{ node(id: 1.5) { id } }": "id: expected ID, got 1.5.",
    "{ __typename @skip(if: 1) }": "if: expected Boolean, got 1.",
    PAGE % 'first: "a"': 'first: expected Int, got "a".',
    PAGE % "first: 2147483648": "first: expected Int of 32 bits, got 2147483648.",
    PAGE % 'rating: [1, "a"]': 'rating.1: expected Int, got "a".',
    PAGE % "orderBy: UP": "orderBy: expected CommentOrder (NEWEST or OLDEST or "
    "HIGHEST_RATING or LOWEST_RATING or MOST_HELPFUL), got UP.",
    PAGE % 'createdFrom: "yesterday"': f'createdFrom: expected {OFFSET}, got "yesterday".',
    PAGE % 'createdFrom: "2024-12-01T00:00"': (
        f'createdFrom: expected {OFFSET}, got "2024-12-01T00:00".'
    ),
    f"query($x: Int = TRUE) {PAGE % 'first: $x'}": "$x: expected Int, got TRUE.",
    ADD % 'rating: "a", language: "en", text: "t"': 'input.rating: expected Int, got "a".',
    ADD % 'rating: 1, language: "en"': (
        "input: expected value of type 'AddCommentInput' to include required field 'text'."
    ),
}


@pytest.mark.parametrize("operation", NAMED)
async def test_an_error_has_the_argument_the_type_and_the_literal(operation: str) -> None:
    _, (error,) = await ask(operation)
    assert error["message"] == NAMED[operation]
    assert error["locations"]


WRONG = {"Int": '"a"', "ID": "1.5", "Decimal": "1.5", "DateTime": '"2024-12-01T00:00"'}
"""For each scalar, a value that it refuses in JSON and in GraphQL. For all others, it is 5."""

LEAVES = [
    one.name
    for one in SCHEMA.type_map.values()
    if is_leaf_type(one) and not one.name.startswith("__") and one.name != "Float"
]


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize("place", ["$x", "$x.0"])
def test_every_error_of_a_leaf_has_place_type_and_value(name: str, place: str) -> None:
    wrong = WRONG.get(name, "5")
    many = place != "$x"
    type_, value = (f"[{name}!]", f"[{wrong}]") if many else (name, wrong)
    document = parse(f"query($x: {type_}) {{ __typename }}")
    (operation,) = operations_of(document)
    by_variable = variable_errors(SCHEMA, operation, {"x": json.loads(value)})
    literal = parse(f"query($x: {type_} = {value}) {{ __typename @skip(if: false) }}")
    inline = validate(SCHEMA, literal, [ValueRule])
    for errors in (by_variable, inline):
        (error,) = errors
        assert error.message.startswith(f"{place}: expected {name}")
        assert error.message.endswith(f", got {wrong}.")
        assert error.locations


AMOUNT = {"amount": 1.5, "currencyCode": "EUR"}
LINES = [{"productId": "1", "quantity": 1, "unitPrice": AMOUNT}]


@pytest.mark.parametrize(
    ("type_", "value", "reason"),
    [
        ("Int", "a", '$x: expected Int, got "a".'),
        ("Int", True, "$x: expected Int, got true."),
        ("Int", [1], "$x: expected Int, got a list."),
        ("Int!", None, "$x: expected Int, got null."),
        ("[Int!]", [1, None], "$x.1: expected Int, got null."),
        ("String", "a" * 99, None),
        ("OrderStatus", "a" * 99, f'$x: expected OrderStatus (*), got "{"a" * 58}….'),
        (
            "DateTime",
            "2024-12-01",
            '$x: expected DateTime with an offset, such as *, got "2024-*".',
        ),
        ("DateTime", "2024-12-01T01:00:00+01:00", None),
        (
            "PlaceOrderInput",
            {"username": "a", "lines": LINES},
            '$x.lines.0.unitPrice.amount: expected Decimal, such as "12.50", got 1.5.',
        ),
        (
            "PlaceOrderInput",
            {"username": "a", "lines": [], "key": 1},
            "$x: expected value of type 'PlaceOrderInput' not to include unknown field 'key'.",
        ),
    ],
)
def test_an_error_has_the_variable_the_type_and_the_value(
    type_: str, value: object, reason: str | None
) -> None:
    (operation,) = operations_of(parse(f"query($x: {type_}) {{ __typename }}"))
    told = [error.message for error in variable_errors(SCHEMA, operation, {"x": value})]
    assert told == [] if reason is None else fnmatchcase("".join(told), reason)


@pytest.mark.parametrize(("operation", "variables"), FAULTY.values(), ids=FAULTY)
async def test_every_client_error_is_a_sentence_without_python_terms(
    operation: str, variables: dict[str, object]
) -> None:
    _, errors = await ask(operation, **variables)
    assert errors
    for error in errors:
        assert error["extensions"]["code"] == "BAD_REQUEST"
        assert not PYTHON.search(STRING.sub("", error["message"])), error["message"]
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
    """Return a strategy for a client's input, which draws values of the type and other values."""
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
async def test_no_message_about_variables_contains_python_terms(
    drawn: tuple[str, dict[str, Any]],
) -> None:
    operation, variables = drawn
    _, errors = await ask(operation, **variables)
    told = [one["message"] for one in errors if one["extensions"]["code"] == "BAD_REQUEST"]
    assert not [message for message in told if PYTHON.search(STRING.sub("", message))]


def test_the_tests_send_every_mutation() -> None:
    assert isinstance(SCHEMA.mutation_type, GraphQLObjectType)
    assert len(OPERATIONS) == len(SCHEMA.mutation_type.fields) + 3


def _message_of(error: GraphQLError) -> str:
    return client_error(error, {}).message


def _ended(size: int) -> str:
    with pytest.raises(QueryTooCostlyError) as caught:
        AnswerSize(10, MAX_RESPONSE, QueryTooCostlyError).add(0, size)
    return str(caught.value)


def _not_found(text: str, name: str | None = None) -> str:
    with pytest.raises(GraphQLError) as caught:
        CACHE.checked(text).operation(name)
    return caught.value.message


SENTENCES: list[tuple[Callable[[], str], str]] = [
    (
        lambda: _message_of(GraphQLError("", original_error=KeyError("secret"))),
        "The server failed on this field. The server's log has the reason under the request id.",
    ),
    (
        lambda: client_errors([GraphQLError("")] * 60, {}, introspection=True)[-1].message,
        "40 more errors are not listed.",
    ),
    (
        lambda: _ended(MAX_RESPONSE + 1),
        (
            "The operation has ended, because its result is larger than 9,000,000 bytes: select "
            "fewer rows or fields."
        ),
    ),
    (
        lambda: _not_found("query a { __typename } query b { __typename }"),
        "The document has several operations: name the operation to run in operationName.",
    ),
    (
        lambda: _not_found("{ __typename }", "a"),
        "The document has no operation with the name 'a'.",
    ),
    (
        lambda: CACHE.checked("{ ...f } fragment f on Query { ...f }").errors[0].message,
        "The fragment 'f' spreads itself: remove one of its spreads.",
    ),
    (
        lambda: faults_of_variables([0] * 1_001)[0].message,
        "The variables contain more than 1,000 values: send fewer at a time.",
    ),
    (
        lambda: CACHE.checked(chain(98)).errors[0].message,
        (
            "The document selects too many fields and fragments of the same object: select each "
            "field once, and spread fewer fragments."
        ),
    ),
]


@pytest.mark.parametrize(("said", "sentence"), SENTENCES)
def test_a_refusal_has_a_sentence(said: Callable[[], str], sentence: str) -> None:
    assert said() == sentence


async def test_a_schema_without_subscriptions_refuses_them() -> None:
    @strawberry.type
    class Query:
        number: int = 1

    schema = ExecutableSchema(host=HOST, query=Query)
    result = await schema.execute("subscription { number }")
    assert [error.message for error in result.errors or []] == ["The schema has no subscriptions."]
