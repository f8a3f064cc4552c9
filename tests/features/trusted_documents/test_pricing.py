"""The price of an operation is above what the operation costs with any variables."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from graphql import ArgumentNode, OperationDefinitionNode, parse, print_ast, type_from_ast

from dal.dynamodb.table import Table
from dal.model import OrderStatus
from dal.stores import Stores
from features.trusted_documents.document_files import read_documents
from features.trusted_documents.pricing import PricedOperation, priced
from pages.page_documents import DOCUMENTS
from schema.build import build_schema
from schema.execution.compiled.coercion import nodes_of, variables_in
from tests.clients.relay import PERSISTED, compiled
from tests.engines import ROOT
from tests.schema.execution.test_predicted_cost import (
    OF_ALL,
    READING,
    World,
    caches_do_not_expire,
    costs_are_shown,
    draws,
    executed,
    world,
)
from tools.bench.coverage import documents_in
from tools.trials.fuzz.documents import Draw, document, value

__all__ = ["caches_do_not_expire", "costs_are_shown", "world"]

SCHEMA = build_schema(explain=True)


def price_of(text: str, **given: Any) -> PricedOperation:
    (operation,) = priced(SCHEMA, "d", text, given)
    return operation


def above(most: Mapping[str, float], actual: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return the figures that are higher in ``actual`` than in ``most``."""
    pairs = {name: (figure, actual.get(name, 0)) for name, figure in most.items()}
    return {name: pair for name, pair in pairs.items() if pair[1] > pair[0]}


async def costs_at_most_its_price(table: Table, text: str, given: dict[str, Any]) -> float:
    """Run an operation with cold and then with warm caches. Return the requests of both runs."""
    price, requests = price_of(text), 0
    stores = Stores(Table(table.service, table.name))
    for state, basis in (("cold", "predictedCold"), ("warm", "predicted")):
        most = getattr(price, state)
        answer = await executed(0, table, stores, OF_ALL, text, **given)
        if not answer.extensions:  # a variable is invalid
            break
        codes = {error.extensions["code"] for error in answer.errors or []}
        assert "INTERNAL" not in codes, (text, given)
        actual = answer.extensions["cost"]["actual"]
        # An operation that ends may have cost as much as with cold caches.
        limit = price.cold if "QUERY_TOO_COSTLY" in codes else most
        assert not above(limit, actual), (text, given)
        predicted = answer.extensions["cost"][basis]
        assert not above(most, predicted), (text, given)
        assert predicted == getattr(price_of(text, **given), state)
        requests += actual["requests"]
    return requests


@pytest.mark.usefixtures("caches_do_not_expire")
@pytest.mark.parametrize("operations", [150, pytest.param(5_000, marks=pytest.mark.soak)])
async def test_random_operations_cost_at_most_their_price(world: World, operations: int) -> None:
    table, ids = world
    known, counts = draws(ids, []), Counter[str]()
    for number in range(operations):
        rng = random.Random(f"price {number}")
        wanted = rng.choice(READING)
        text, given = document(rng, SCHEMA.documents.schema, 0.0, known, wanted)
        if SCHEMA.documents.checked(text).errors:  # the document has too many aliases
            continue
        counts["operations"] += 1
        counts["requests"] += int(await costs_at_most_its_price(table, text, given))
    assert counts["requests"] > counts["operations"] > operations / 2


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The documents of the examples and the pages, as clients send them, by place."""
    directory = tmp_path_factory.mktemp("sent")
    done = compiled(ROOT / "examples/storefront/src", directory, language="typescript")
    assert done.returncode == 0, done.stdout
    found = read_documents([directory / PERSISTED])
    for example in ("apollo", "urql"):
        for path, one in documents_in(ROOT / "examples" / example):
            file = directory / f"{example}.graphql"
            file.write_text(print_ast(one))
            found += [(f"{example}: {path.name}", text) for _, text in read_documents([file])]
    return [*found, *DOCUMENTS.items()]


def test_fragments_with_the_same_name_in_another_file_are_refused(tmp_path: Path) -> None:
    operation, fragments = tmp_path / "operation.graphql", tmp_path / "fragments.graphql"
    operation.write_text("{ __typename ...Shown }")
    fragments.write_text("fragment Shown on Query { __typename } " * 2)
    ((_, text),) = read_documents([operation, fragments])
    assert SCHEMA.documents.checked(text).errors


@pytest.mark.usefixtures("caches_do_not_expire")
async def test_documents_of_examples_and_pages_cost_at_most_their_price(
    world: World, sent: list[tuple[str, str]]
) -> None:
    table, ids = world
    known, counts = draws(ids, []), Counter[str]()
    for place, text in sent:
        rng = random.Random(place)
        (operation,) = operations(text)
        counts[operation.operation.value] += 1
        if operation.operation.value == "subscription":
            continue
        for _ in range(3):
            given = drawn(rng, operation, known)
            counts["requests"] += int(await costs_at_most_its_price(table, text, given))
    assert counts["query"] > 20
    assert counts["mutation"] > 15
    assert counts["subscription"] >= 3
    assert counts["requests"] > 300


def operations(text: str) -> Iterator[OperationDefinitionNode]:
    definitions = parse(text).definitions
    return (one for one in definitions if isinstance(one, OperationDefinitionNode))


def drawn(
    rng: random.Random, operation: OperationDefinitionNode, known: Mapping[str, Draw]
) -> dict[str, Any]:
    """Return random values of an operation's variables."""
    arguments = [one for one in nodes_of(operation) if isinstance(one, ArgumentNode)]
    given = {}
    for one in operation.variable_definitions or ():
        name = one.variable.name.value
        uses = [use.name.value for use in arguments if name in variables_in(use)]
        kind = type_from_ast(SCHEMA.documents.schema, one.type)
        given[name] = value(rng, kind, 0.0, uses[0] if uses else name, known)
    return given


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        (
            """query ($n: Int, $r: [Int!], $l: [String!], $o: CommentOrder, $a: String, $v: Boolean)
            { product(productId: "1") { comments(first: $n, rating: $r, language: $l, orderBy: $o
            after: $a, verifiedOnly: $v) { nodes { id } } } }""",
            {"n": 100, "r": 5, "l": 100, "o": "HIGHEST_RATING", "a": "a", "v": True},
        ),
        ("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": 100}),
        (
            "query ($s: [OrderStatus!]) { viewer { orders(status: $s) { totalCount } } }",
            {"s": len(OrderStatus)},
        ),
        (
            "query ($k: ModerationQueueKind!) { moderationQueue(kind: $k) { totalCount } }",
            {"k": "REPORTED"},
        ),
        (
            """query ($a: Int!, $b: Int!) { product(productId: "1") {
            comments(rating: [$a, $b]) { nodes { id } } } }""",
            {"a": 100, "b": 101},
        ),
        ("query ($p: ID!) { product(productId: $p) { title } }", {}),
    ],
)
def test_variables_without_a_value_have_the_dearest_one(
    text: str, variables: dict[str, Any]
) -> None:
    found = price_of(text).variables
    assert {
        name: len(set(one)) if isinstance(one, list) else one for name, one in found.items()
    } == variables


LIST = "comments(language: $l, first: $n) { nodes { id } }"
HEAD = "query ($l: [String!], $n: Int)"


def test_aliases_groups_and_languages_count_each() -> None:
    def rcu(fields: str, head: str = HEAD, **given: Any) -> float:
        one = price_of(f'{head} {{ product(productId: "1") {{ {fields} }} }}', **given)
        return one.cost.rcu

    few: dict[str, Any] = {"l": ["en"], "n": 5}
    once = rcu(LIST, **few)
    assert rcu(f"a: {LIST} b: {LIST} c: {LIST}", **few) == 3 * once
    assert rcu(LIST, l=["en", "de", "fr"], n=5) > rcu(LIST, l=["en", "de"], n=5) > once
    assert rcu(LIST, l=["en", "en"], n=5) == once
    products = rcu(f"group {{ products {{ {LIST} }} }}", **few)
    group = rcu("group { products { id } }", "query")
    assert products == group + 60 * once
