"""Operations that would read too much are refused before the first read."""

import inspect
from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest
from graphql import (
    DocumentNode,
    OperationDefinitionNode,
    get_introspection_query,
    get_named_type,
    parse,
)
from graphql.execution.values import VariableValues
from hypothesis import example, given
from hypothesis import strategies as st
from strawberry.types.base import StrawberryObjectDefinition

from dal.counts.mode import COLD_RCU, COLD_REQUESTS
from dal.dynamodb.account import MAX_REQUESTS
from dal.dynamodb.table import Table
from dal.model import Photo, ProductDetails
from dal.stores import Stores
from resolvers.context import Context, Viewer
from resolvers.selection import CommentOrder
from schema.build import build_schema
from schema.execution.compiled.operation import CompiledOperation
from schema.execution.cost import MAX_ANSWER_VALUES, Cost, PredictedCosts, predicted
from schema.execution.selections import operations_of
from schema.execution.visibility import is_impersonal
from tests.calls import calls_of
from tests.feature_lists import added
from tests.oracle import make_comments
from tests.putting import put_comments
from tests.schema.conftest import ANN, MODERATOR, STAFF, Run
from tests.strategies import comment

SCHEMA = build_schema(explain=True)


def cost_of(text: str, **variables: object) -> tuple[float, float]:
    """Return the usual numbers of requests and values of an operation."""
    cost = prediction(text, **variables)
    return cost.usual_requests, cost.usual_values


def maxima_of(text: str) -> tuple[float, float]:
    """Return the maximum requests and RCU of an operation."""
    cost = prediction(text)
    return cost.requests, cost.rcu


def cold_of(text: str) -> tuple[float, float]:
    """Return the maximum requests and RCU that fill caches during an operation."""
    cost = prediction(text)
    return cost.cold_requests, cost.cold_rcu


def prediction(text: str, **variables: object) -> Cost:
    document = parse(text)
    operation = document.definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    return predicted(
        SCHEMA._schema, document, operation, SCHEMA.facts, coerced(document, operation, **variables)
    )


def coerced(
    document: DocumentNode, operation: OperationDefinitionNode, **variables: object
) -> Mapping[str, Any]:
    values = CompiledOperation(SCHEMA._schema, document, operation).coerced(variables)
    assert isinstance(values, VariableValues), values
    return values.coerced


def product(selection: str) -> str:
    return f'{{ product(productId: "1") {{ {selection} }} }}'


@pytest.mark.parametrize(
    ("text", "calls", "values"),
    [
        ("{ __typename }", 0, 1),
        (product("productId"), 0, 2),
        (product("comments { nodes { id } }"), 1, 42),
        (product("comments(first: 3) { nodes { id } totalCount }"), 2, 9),
        (product("comments(last: 3) { edges { node { id } } }"), 1, 11),
        (product("comments(first: 3, orderBy: OLDEST) { nodes { id } totalCount }"), 2, 9),
        (
            product(
                'comments(rating: [1, 2], createdFrom: "2024-01-01T00:00Z")'
                " { pageInfo { __typename } }"
            ),
            2,
            4,
        ),
        (product("comments(first: 100) { nodes { product { statistics { total } } } }"), 101, 402),
        (product("comments(first: 1000000) { nodes { id } }"), 1, 202),
        (product("comments(orderBy: HIGHEST_RATING) { pageInfo { __typename } }"), 2, 4),
        (product("comments(orderBy: LOWEST_RATING, rating: 1) { pageInfo { __typename } }"), 1, 4),
        (product("comments(orderBy: MOST_HELPFUL) { pageInfo { __typename } }"), 2, 4),
        (
            product("comments(orderBy: MOST_HELPFUL, rating: [1, 2]) { pageInfo { __typename } }"),
            3,
            4,
        ),
        (
            product(
                'comments(orderBy: LOWEST_RATING, rating: [1, 2, 3], language: ["a", "b"])'
                " { pageInfo { __typename } }"
            ),
            4,
            4,
        ),
        (product("statistics { total } mostRecentPositive { id } lastCommentedAt"), 3, 6),
        ("{ leaderboard { nodes { product { lastCommentedAt } } } }", 22, 61),
        ('{ leaderboard(first: 1, after: "x") { nodes { rank } } }', 2 + 25, 3),
        ("{ leaderboard(last: 1) { nodes { rank } } }", 2 + 25, 3),
        (
            '{ openOrders(createdBefore: "2024-01-01T00:00Z") { pageInfo { __typename } } }',
            8,
            3,
        ),
        ("{ openOrders(first: 1) { nodes { lines { quantity } } } }", 8, 2 + 5 + 5),
        (product("statistics { histogram { rating } }"), 1, 2 + 5 + 5),
        (
            product(
                'comments(rating: [1, 2], language: ["a", "b", "c"]) { pageInfo { __typename } }'
            ),
            6,
            4,
        ),
        (
            product('comments(rating: 1, language: ["a", "b", "a"]) { pageInfo { __typename } }'),
            2,
            4,
        ),
        ('{ nodes(ids: ["a", "b"]) { ... on Product { statistics { total } } } }', 4, 6),
        ('{ nodes(ids: ["a", "b"]) { ... on Product { title url pictureUrl } } }', 4, 8),
        (
            '{ products(productIds: ["a", "b"]) { title statistics { total } } }',
            2,
            2 + 2 * (1 + 1 + 1),
        ),
        ('{ productSearch(title: "a", first: 3) { nodes { title statistics { total } } } }', 4, 13),
        ('{ productSearch(title: "a", first: 3) { edges { node { isKnown url } } } }', 1, 13),
        ('{ nodes(ids: "a") { ...p } } fragment p on Product { statistics { total } }', 2, 3),
        ('mutation { deleteComment(input: {id: "x"}) { deletedId } }', 5, 2),
    ],
)
def test_the_cost_of_an_operation_is_predicted(text: str, calls: int, values: int) -> None:
    assert cost_of(text) == (calls, values)


SIZES = parse(
    "query ($ids: [ID!]!, $p: ID!, $r: [Int!], $l: [String!], $n: Int = 7, $m: Int,"
    " $o: CommentOrder)"
    " { nodes(ids: $ids) { ... on Product { lastCommentedAt } } product(productId: $p) {"
    " comments(rating: $r, language: $l, first: $n, last: $m, orderBy: $o)"
    " { edges { node { id } } } } }"
)
MIXED = parse(
    "query ($one: Int!, $n: Int) { product(productId: 1) {"
    " comments(rating: [1, $one], first: $n) { totalCount } } }"
)
sizes = st.integers(-3, 200) | st.integers(-3, 200).map(float)
texts = st.text(max_size=2)
asked_for = {
    "ids": st.lists(texts | st.integers(), max_size=4) | texts,
    "p": texts,
    "r": st.none() | st.lists(sizes, max_size=6) | sizes,
    "l": st.none() | st.lists(texts, max_size=6) | texts,
    "n": st.none() | sizes,
    "m": st.none() | sizes,
    "one": sizes,
    "o": st.sampled_from([*CommentOrder]).map(str),
}


def kept_is_predicted(document: DocumentNode, asked: list[dict[str, Any]]) -> None:
    (operation,) = operations_of(document)
    costs = PredictedCosts(SCHEMA._schema, document, operation, SCHEMA.facts)
    for one in (*asked, *asked):
        values = coerced(document, operation, **one)
        assert costs.cost(values) == predicted(
            SCHEMA._schema, document, operation, SCHEMA.facts, values
        )


@example([{"ids": [], "p": "", "r": ratings} for ratings in ([5, 5], [5, 4])])
@given(
    st.lists(
        st.fixed_dictionaries(
            {name: asked_for[name] for name in ("ids", "p")},
            optional={name: asked_for[name] for name in ("r", "l", "n", "m", "o")},
        ),
        min_size=1,
        max_size=8,
    )
)
def test_cached_costs_equal_newly_predicted_costs(asked: list[dict[str, Any]]) -> None:
    kept_is_predicted(SIZES, asked)


@example([{"one": 1}, {"one": 2}])
@given(
    st.lists(
        st.fixed_dictionaries({"one": asked_for["one"]}, optional={"n": asked_for["n"]}),
        min_size=1,
        max_size=8,
    )
)
def test_costs_with_variables_in_lists_are_not_cached(asked: list[dict[str, Any]]) -> None:
    kept_is_predicted(MIXED, asked)


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"n": 100.0}, {"n": 100}),
        ({"n": 3, "r": 5}, {"n": 3, "r": [5]}),
        ({"r": [1.0, 2.0]}, {"r": [1, 2]}),
        ({"ids": "a"}, {"ids": ["a"]}),
        ({"ids": [1, 2.0]}, {"ids": ["1", "2"]}),
    ],
)
async def test_the_prediction_uses_the_coerced_variables(
    table: Table, sent: dict[str, Any], meant: dict[str, Any]
) -> None:
    """GraphQL accepts 100.0 for an Int, and one value for a list."""
    text = (
        'query ($n: Int, $r: [Int!], $ids: [ID!]! = []) { product(productId: "1") {'
        " comments(first: $n, rating: $r) { nodes { id product { lastCommentedAt } } } }"
        " nodes(ids: $ids) { id } }"
    )

    async def cost(variables: dict[str, Any]) -> Any:
        answer = await SCHEMA.execute(
            text,
            variables,
            context_value=Context(STAFF, Stores(table)),
            operation_extensions={"cost": True},
        )
        assert answer.extensions
        return answer.extensions["cost"]

    assert await cost(sent) == await cost(meant)


async def test_a_request_with_invalid_variables_has_no_cost(table: Table) -> None:
    answer = await SCHEMA.execute(
        'query ($n: Int) { product(productId: "1") { comments(first: $n) { totalCount } } }',
        {"n": 1.5},
        context_value=Context(STAFF, Stores(table)),
        operation_extensions={"cost": True},
    )
    assert (len(answer.errors or []), answer.extensions) == (1, {})


def test_the_prediction_uses_sizes_from_variables_and_their_defaults() -> None:
    text = (
        "query($n: Int = 5, $ids: [ID!]!) { nodes(ids: $ids) { ... on Product {"
        " comments(first: $n) { nodes { id } } } } }"
    )
    assert cost_of(text, ids=["a", "b"]) == (4, 2 + 2 + 10 + 10)
    assert cost_of(text, ids=["a", "b"], n=1) == (4, 2 + 2 + 2 + 2)
    assert cost_of(text, ids="a", n=None) == (2, 1 + 1 + 20 + 20)


def _may_wait(resolver: Any) -> bool:
    """Return whether a resolver returns an awaitable, always or for some viewers."""
    returned = resolver.__annotations__.get("return")
    return inspect.iscoroutinefunction(resolver) or "Awaitable" in str(returned)


def test_every_field_that_reads_has_a_cost() -> None:
    reading = {
        f"{type_name}.{SCHEMA.config.name_converter.get_graphql_name(field)}"
        for type_name in SCHEMA._schema.type_map
        if isinstance(one := SCHEMA.get_type_by_name(type_name), StrawberryObjectDefinition)
        for field in one.fields
        if field.base_resolver and _may_wait(field.base_resolver.wrapped_func)
    }
    declared = {
        name
        for name, reads in SCHEMA.facts.reads.items()
        if reads.rows is None and name.count(".") == 1
    }
    # The resolver of their parent object has read these values.
    known = {"Author.name", "CommentConnection.totalCount", "User.name"}
    assert reading == declared - known - {*chain.from_iterable(added("READ_WITH_PARENT"))}


TOO_COSTLY = {
    "pages of pages": product(
        "comments(first: 100) { nodes { product { comments(first: 100) { nodes { id } } } } }"
    ),
    "statistics of many": "query { "
    + " ".join(
        f'a{n}: product(productId: "{n}") {{ comments(first: 100) {{ nodes {{ product {{'
        " statistics { total } } } } }"
        for n in range(4)
    )
    + " }",
    "statistics of the comments of many products": "{ nodes(ids: [%s]) { ... on Product {"
    " comments(first: 100) { nodes { product { statistics { total } } } } } } }" % ('"x" ' * 100),
    "partitions of many pages": product(
        "comments(first: 100) { nodes { product { comments(rating: [1, 2, 3]) { totalCount } } } }"
    ),
    "introspection over and over": "{ __schema { "
    + " ".join(f"a{n}: types {{ fields {{ type {{ fields {{ name }} }} }} }}" for n in range(29))
    + " } }",
    "introspection by a fragment": "{ "
    + " ".join(f"a{n}: __schema {{ ...f }}" for n in range(29))
    + " } fragment f on __Schema { types { fields { name args { name type { name } } type { fields"
    " { name description } } } } }",
    "values": product(
        "comments(first: 100) { nodes { id rating title product { comments(first: 60) {"
        " edges { cursor node { id rating title } } } } } }"
    ),
}


@pytest.mark.parametrize("text", TOO_COSTLY.values(), ids=TOO_COSTLY)
async def test_an_operation_above_the_cost_limit_is_refused_before_its_first_read(
    table: Table, run: Run, text: str
) -> None:
    calls = calls_of(table)
    answer = await run(text)
    assert answer["data"] is None
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert "the maximum is" in error["message"]
    assert calls == []


DROPPED_RCU = 0.5 * 2_000 * 500 / 4_096


@pytest.mark.parametrize(
    ("text", "requests", "rcu"),
    [
        ("{ __typename }", 0, 0),
        (product("comments(first: 8) { nodes { id } }"), 1, 90),
        (product('comments(first: 8, after: "x") { nodes { id } }'), 2, 100),
        (product("comments(first: 100) { nodes { id } totalCount }"), 9 + 3, 1_090 + 60),
        (
            product("comments(first: 10, rating: [1, 2]) { nodes { id } }"),
            2 * 2 + 4 + 3,
            10 * (11 + 10) + DROPPED_RCU,
        ),
        (
            product(
                "comments(first: 1, verifiedOnly: true, orderBy: LOWEST_RATING) { __typename }"
            ),
            5 + 2 + 4 + 3,
            10 * (14 + 1) + DROPPED_RCU,
        ),
        (
            product("comments(first: 1, orderBy: MOST_HELPFUL) { __typename }"),
            2 + 2 + 4 + 3,
            10 * (11 + 1) + DROPPED_RCU,
        ),
        (product("statistics { total }"), 1 + 2, 20 * 3),
        ("{ openOrders(first: 5) { nodes { id } } }", 8, 10 * (8 + 5)),
        ('{ nodes(ids: ["a", "b"]) { id } }', 4, 80),
        ('mutation { deleteComment(input: {id: "x"}) { deletedId } }', 20, 400),
    ],
)
def test_the_predicted_requests_and_capacity_are_maxima(
    text: str, requests: int, rcu: float
) -> None:
    """A row may consume 20 RCU, or 10 RCU if read with eventual consistency."""
    assert maxima_of(text) == (requests, rcu)


@pytest.mark.parametrize(
    ("text", "requests", "rcu"),
    [
        ("{ __typename }", 0, 0),
        (product("comments(first: 8) { nodes { id } }"), COLD_REQUESTS, COLD_RCU),
        (
            product("comments(first: 10, rating: [1, 2]) { nodes { id } }"),
            1 + 5 + COLD_REQUESTS,
            10 * 6 + COLD_RCU,
        ),
        (
            product("a: comments(rating: 1) { totalCount } b: comments(rating: 2) { totalCount }"),
            2 * (1 + 5) + COLD_REQUESTS,
            2 * 10 * 6 + COLD_RCU,
        ),
    ],
)
def test_the_requests_that_fill_caches_are_predicted(text: str, requests: int, rcu: float) -> None:
    assert cold_of(text) == (requests, rcu)


def test_a_mutation_is_never_warm() -> None:
    """The write of a mutation removes the statistics that plan the lists of its payload."""
    lists = "comment { product { comments(rating: 1) { nodes { id } } } }"
    write = f'mutation {{ updateComment(input: {{id: "x"}}) {{ {lists} }} }}'
    planned = product("comments(rating: 1) { nodes { id } }")
    cold, _ = cold_of(planned)
    alone, _ = maxima_of('mutation { updateComment(input: {id: "x"}) { userErrors { code } } }')
    warm, _ = maxima_of(planned)
    assert maxima_of(write)[0] == alone + warm + cold - COLD_REQUESTS


async def test_introspection_queries_of_common_tools_are_below_the_limit() -> None:
    _, values = cost_of(get_introspection_query())
    answer = await SCHEMA.execute(get_introspection_query())
    assert answer.errors is None
    actual = count_values(answer.data)
    assert actual / 3 < values < actual * 3


def count_values(value: object) -> int:
    """Return the number of fields in a response."""
    match value:
        case dict():
            return len(value) + sum(map(count_values, value.values()))
        case list():
            return sum(map(count_values, value))
    return 0


async def test_the_response_has_the_cost_if_the_client_requests_it(table: Table) -> None:
    stores = Stores(table)
    await put_comments(stores.comments, [comment(f"c{n}", product_id="42") for n in range(30)])
    context = Context(STAFF, stores)
    calls = calls_of(table)
    text = '{ product(productId: "42") { comments(first: 20) { nodes { id } } } }'
    answer = await SCHEMA.execute(text, context_value=context, operation_extensions={"cost": True})
    assert (answer.errors, answer.data is None) == (None, False)
    assert answer.extensions is not None
    cost = answer.extensions["cost"]
    assert cost["predicted"] == {"requests": 2, "rcu": 220.0, "values": 42}
    assert cost["predictedCold"] == {"requests": 3 + 4, "rcu": 2 * 223.0, "values": 42}
    assert cost["actual"].pop("rcu") > 0
    assert cost["actual"] == {"requests": len(calls), "wcu": 0.0, "values": 42}


async def test_the_actual_cost_includes_reads_by_key_batches_and_writes(table: Table) -> None:
    context = Context(STAFF, Stores(table))
    extensions: dict[str, Any] = {"cost": True}

    async def actual(text: str) -> dict[str, float]:
        answer = await SCHEMA.execute(text, context_value=context, operation_extensions=extensions)
        assert answer.extensions is not None
        spent: dict[str, float] = answer.extensions["cost"]["actual"]
        return spent

    spent = await actual('{ comment(commentId: "1") { id } }')
    assert spent == {"requests": 1, "rcu": 1.0, "wcu": 0.0, "values": 1}
    spent = await actual('{ nodes(ids: ["Q29tbWVudDox", "Q29tbWVudDoy"]) { id } }')
    assert spent == {"requests": 1, "rcu": 2.0, "wcu": 0.0, "values": 2}
    spent = await actual("""{ comment(commentId: "1") { id } other: comment(commentId: "2") { id }
        node(id: "Q29tbWVudDoz") { id } }""")
    assert spent == {"requests": 1, "rcu": 3.0, "wcu": 0.0, "values": 3}
    line = '{productId: "1", quantity: 1, unitPrice: {amount: "1", currencyCode: "EUR"}}'
    spent = await actual(
        f'mutation {{ placeOrder(input: {{username: "ann", lines: [{line}]}}) {{ __typename }} }}'
    )
    assert (spent["requests"], spent["rcu"]) == (2, 0.5)
    assert spent["wcu"] >= 2


async def reads_at_most_what_is_predicted(stores: Stores, viewer: Viewer, text: str) -> None:
    """Check the cost of an operation in a process that has read nothing, and then again."""
    for basis in ("predictedCold", "predicted"):
        calls = calls_of(stores.table)
        answer = await SCHEMA.execute(
            text, context_value=Context(viewer, stores), operation_extensions={"cost": True}
        )
        assert answer.errors is None
        assert answer.extensions is not None
        cost = answer.extensions["cost"]
        for name in ("requests", "rcu"):
            assert cost["actual"][name] <= cost[basis][name], basis
        assert len(calls) == cost["actual"]["requests"], basis


@pytest.mark.parametrize(
    "text",
    [
        "{ products(productIds: [%s]) { isKnown statistics { total } } }",
        "{ products(productIds: [%s]) { title isKnown statistics { total } } }",
        "{ products(productIds: [%s]) { isKnown } }",
    ],
)
async def test_an_operation_reads_at_most_what_is_predicted(table: Table, text: str) -> None:
    unknown = " ".join(f'"unknown{number}"' for number in range(20))
    await reads_at_most_what_is_predicted(Stores(table), STAFF, text.replace("%s", unknown))


async def product_with_all(stores: Stores) -> None:
    """Store products of a group, one with sparse flags."""
    comments = [
        one._replace(
            verified_purchase=number % 40 == 7,
            photos=(Photo("https://shop.example/kettle.jpg", ""),) if number == 50 else (),
            votes_before=number % 3 if number > 200 else 0,
            text="long " * 1_500 if number % 25 == 0 else one.text,
        )
        for number, one in enumerate(make_comments("42", 240, seed=4))
    ]
    await put_comments(stores.comments, comments)
    for product_id in ("42", "43", "44"):
        await stores.products.update(product_id, {"title": "Kettle", "group": "kettles"})
    titles = {f"k{number}": f"Kettle kit {number} key kid keep" for number in range(30)}
    await stores.products.put_many({one: ProductDetails(title) for one, title in titles.items()})
    await put_comments(stores.comments, make_comments("43", 12, seed=5))


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "rating": st.sampled_from(["[1]", "[2, 5]", "[1, 2, 3, 4]"]),
        "language": st.sampled_from(['["fr"]', '["en", "ar", "xx"]']),
        "verifiedOnly": st.just("true"),
        "hasPhotos": st.just("true"),
        "contains": st.sampled_from(['"word"', '"22"', '"zinc"']),
        "createdFrom": st.sampled_from(['"2023-01-03T00:00Z"', '"2023-01-09T00:00Z"']),
        "createdBefore": st.just('"2023-01-09T00:00Z"'),
        "orderBy": st.sampled_from([*map(str, CommentOrder)]),
    },
)
LISTS = st.tuples(
    FILTERS,
    st.sampled_from(["first: 1", "first: 7", "last: 3", "first: 100", "last: 20"]),
    st.sampled_from(
        [
            "nodes { id }",
            "totalCount nodes { id }",
            *chain.from_iterable(added("OF_PAGE")),
            "pageInfo { hasNextPage hasPreviousPage } edges { node { author { name } } }",
            "nodes { product { lastCommentedAt } } jsonLd",
        ]
    ),
).map(
    lambda one: "comments({}) {{ {} }}".format(
        ", ".join([one[1], *(f"{name}: {value}" for name, value in one[0].items())]), one[2]
    )
)
OF_PRODUCT = st.sampled_from(
    [
        "statistics { total } title",
        "mostRecentPositive { id } mostRecentNegative { id }",
        "lastCommentedAt isKnown",
        *chain.from_iterable(added("OF_PRODUCT")),
    ]
) | LISTS.flatmap(
    lambda listed: st.sampled_from(
        [template % listed for template in ("%s", *chain.from_iterable(added("AROUND_LISTS")))]
    )
)
ROOTS = st.tuples(
    st.sampled_from(
        [
            'product(productId: "42") { %s }',
            'products(productIds: ["42", "43", "unknown"]) { %s }',
            "leaderboard(first: 3) { nodes { rank product { %s } } }",
            'productSearch(title: "K", first: 2) { nodes { %s } }',
            'productSearch(title: "k", first: 9) { nodes { %s } pageInfo { hasNextPage } }',
            'productSearch(title: "ke", last: 3) { nodes { %s } pageInfo { hasPreviousPage } }',
        ]
    ),
    OF_PRODUCT,
).map(lambda one: one[0] % one[1])


@pytest.fixture
async def filled(table: Table) -> Table:
    await product_with_all(Stores(table))
    return table


@given(st.lists(ROOTS, min_size=1, max_size=3), st.booleans())
async def test_no_operation_reads_twice_what_is_predicted(
    filled: Table, roots: list[str], warm: bool
) -> None:
    stores = Stores(filled)
    viewer = Viewer("sam", STAFF.roles | MODERATOR.roles)
    text = "{ " + " ".join(f"a{number}: {root}" for number, root in enumerate(roots)) + " }"
    if warm:
        await SCHEMA.execute(
            product("comments(first: 20) { nodes { id } }"), context_value=Context(viewer, stores)
        )
    answer = await SCHEMA.execute(
        text, context_value=Context(viewer, stores), operation_extensions={"cost": True}
    )
    assert answer.extensions is not None
    cold, actual = answer.extensions["cost"]["predictedCold"], answer.extensions["cost"]["actual"]
    assert not answer.errors or actual["requests"] == 0, (answer.errors, text)
    for name in ("requests", "rcu"):
        assert actual[name] <= cold[name], text


@pytest.mark.parametrize("asked", [None, {}, {"cost": False}, {"cost": "yes"}, {"other": True}])
async def test_the_response_has_no_cost_unless_the_client_requests_it(
    table: Table, asked: dict[str, Any] | None
) -> None:
    context = Context(STAFF, Stores(table))
    answer = await SCHEMA.execute(
        "{ __typename }", context_value=context, operation_extensions=asked
    )
    assert not answer.extensions


IMPERSONAL = [
    product("statistics { total } ...p") + " fragment p on Product { lastCommentedAt }",
    '{ __typename comment(commentId: "1") { id } ... { author(username: "ann") { username } } }',
    "{ leaderboard { nodes { rank } } __schema { queryType { name } } }",
]
PERSONAL = [
    '{ order(orderId: "1") { id } }',
    '{ ticket(ticketId: "1") { id } }',
    '{ user(username: "ann") { id } }',
    '{ organization(organizationName: "1") { id } }',
    '{ node(id: "T3JkZXI6MQ==") { id } }',
    '{ nodes(ids: "T3JkZXI6MQ==") { id } }',
    "{ viewer { id } }",
    '{ __typename ...q } fragment q on Query { one: order(orderId: "1") { id } }',
    'mutation { setOrderStatus(input: {id: "T3JkZXI6MQ==", status: CANCELLED}) { __typename } }',
    *chain.from_iterable(added("PERSONAL")),
]


@pytest.mark.parametrize("text", [*IMPERSONAL, *PERSONAL])
async def test_staff_see_all_costs_and_other_clients_only_costs_of_impersonal_reads_if_shown(
    table: Table, text: str
) -> None:
    for viewer in (None, ANN, MODERATOR, STAFF):
        for explain, show_cost in ((True, False), (False, True), (False, False)):
            context = Context(viewer, Stores(table), explain, show_cost)
            answer = await SCHEMA.execute(
                text, context_value=context, operation_extensions={"cost": True}
            )
            seen = viewer is STAFF or ((explain or show_cost) and text in IMPERSONAL)
            assert bool(answer.extensions) is seen, (viewer, explain, show_cost)


def test_operations_whose_cost_every_client_sees_read_no_private_object() -> None:
    """All other fields of Query return orders, tickets, users or organisations."""
    assert SCHEMA._schema.query_type is not None
    fields = SCHEMA._schema.query_type.fields

    def impersonal(name: str) -> bool:
        document = parse(f"{{ {name} }}")
        (operation,) = operations_of(document)
        return is_impersonal(SCHEMA._schema, document, operation, SCHEMA.facts.public)

    waiting = [get_named_type(field.type) for name, field in fields.items() if impersonal(name)]
    reached = {one.name: one for one in waiting}
    while waiting:
        kind = waiting.pop()
        for field in getattr(kind, "fields", {}).values():
            of = get_named_type(field.type)
            if of.name not in reached:
                reached[of.name] = of
                waiting.append(of)
    assert {"Product", "Comment", "Author"} <= reached.keys()
    personal = {"Order", "Ticket", "User", "Profile", "Organization", "OrganizationUser"}
    assert not personal & reached.keys()


async def test_the_error_has_the_cost_that_exceeds_its_limit(table: Table) -> None:
    context = Context(None, Stores(table), explain=True)
    text = TOO_COSTLY["pages of pages"]
    answer = await SCHEMA.execute(text, context_value=context, operation_extensions={"cost": True})
    assert answer.extensions is not None
    cost = answer.extensions["cost"]
    assert cost["predicted"]["values"] > MAX_ANSWER_VALUES
    assert cost["actual"] == {"requests": 0, "rcu": 0.0, "wcu": 0.0, "values": 0}
    answer = await SCHEMA.execute(
        "{ no }", context_value=context, operation_extensions={"cost": True}
    )
    assert answer.extensions == {}


async def test_whether_a_document_is_refused_depends_on_its_variables(run: Run) -> None:
    text = (
        'query($n: Int) { product(productId: "1") { comments(first: $n) { nodes { product {'
        " comments(first: $n) { nodes { id } } statistics { total } lastCommentedAt"
        " } } } } }"
    )
    assert (await run(text, n=2))["errors"] == []
    (error,) = (await run(text, n=100))["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert f"the maximum is {MAX_REQUESTS}" in error["message"]
