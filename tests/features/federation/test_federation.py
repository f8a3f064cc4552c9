"""The subgraph of Apollo Federation: its SDL, and entities, which are read like ``nodes``."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.stores import Stores
from resolvers.context import Context
from schema.build import build_schema
from tests import oracle
from tests.calls import calls_of
from tests.engines import ROOT
from tests.putting import put_comments
from tests.schema.conftest import STAFF, Answer, runner
from tests.schema.paths import leading_to
from tests.schema.test_access import PRIVATE
from tests.server.applications import serving
from tests.server.serving import called

PUBLIC, SUBGRAPH = build_schema(), build_schema(federation=True)

COUNT = 20
COMMENTS = [one for n in range(COUNT) for one in oracle.make_comments(f"p{n}", 3, seed=n)]

FIELDS = """{
  __typename
  ... on Product { id title comments(first: 2) { nodes { text } } statistics { total } }
  ... on Comment { id text author { username } }
  ... on Author { id comments(first: 2) { nodes { text } } }
}"""
ENTITIES = f"query ($of: [_Any!]!) {{ found: _entities(representations: $of) {FIELDS} }}"
NODES = f"query ($of: [ID!]!) {{ found: nodes(ids: $of) {FIELDS} }}"


def product(product_id: str) -> tuple[dict[str, object], str]:
    """Return the representation of a product, and its global id."""
    return {"__typename": "Product", "productId": product_id}, to_base64("Product", product_id)


def node(type_name: str, own_id: str) -> tuple[dict[str, object], str]:
    global_id = to_base64(type_name, own_id)
    return {"__typename": type_name, "id": global_id}, global_id


async def asked(table: Table, text: str, of: object) -> tuple[Answer, dict[str, int]]:
    """Return the response, and its requests to DynamoDB if the caches are filled."""
    noted = Table(table.service, table.name)
    calls, run = calls_of(noted), runner(SUBGRAPH, Stores(noted))
    await run('{ product(productId: "p0") { statistics { total } } }')
    calls.clear()
    return await run(text, of=of), calls.operations


async def test_entities_cost_at_most_what_is_predicted(table: Table) -> None:
    """First the process has read nothing; then its caches are warm."""
    await put_comments(Stores(table).comments, COMMENTS)
    keys = [product(f"p{n}") for n in range(COUNT)]
    keys += [node("Comment", one.comment_id) for one in COMMENTS[::3]]
    keys += [node("Author", COMMENTS[0].username)]
    stores, seen = Stores(Table(table.service, table.name)), []
    for basis in ("predictedCold", "predicted"):
        found = await SUBGRAPH.execute(
            ENTITIES.replace(
                "title comments(first: 2)", "title comments(first: 2, rating: [1, 2])"
            ),
            {"of": [of for of, _ in keys]},
            context_value=Context(STAFF, stores),
            operation_extensions={"cost": True},
        )
        assert found.errors is None
        cost = (found.extensions or {})["cost"]
        assert cost["actual"]["requests"] <= cost[basis]["requests"]
        assert cost["actual"]["rcu"] <= cost[basis]["rcu"]
        seen.append(cost["actual"]["requests"])
    assert seen[0] > seen[1] > 0


async def test_entities_equal_nodes_and_cost_as_many_reads(table: Table) -> None:
    await put_comments(Stores(table).comments, COMMENTS)
    keys = [product(f"p{n}") for n in range(COUNT)]
    keys += [node("Comment", one.comment_id) for one in COMMENTS[::3]]
    keys += [node("Comment", "unknown"), product("p0"), node("Comment", COMMENTS[0].comment_id)]
    keys += [node("Author", COMMENTS[0].username), node("Author", "unknown")]
    entities, reads = await asked(table, ENTITIES, [representation for representation, _ in keys])
    nodes, as_many = await asked(table, NODES, [global_id for _, global_id in keys])
    assert entities == nodes
    assert entities["errors"] == []
    assert [found and found["id"] for found in entities["data"]["found"]] == [
        None if number == 2 * COUNT else global_id for number, (_, global_id) in enumerate(keys)
    ]
    assert reads == as_many == {"BatchGetItem": 1, "Query": 2 * COUNT + 2}


async def test_a_representation_costs_what_a_node_costs() -> None:
    def cost(text: str, of: list[Any]) -> object:
        return SUBGRAPH.documents.checked(text).operation(None).costs.cost({"of": of})

    for count in (1, COUNT, 100):
        assert cost(ENTITIES, [product("p")[0]] * count) == cost(NODES, ["x"] * count)
    literal = ENTITIES.replace("$of)", '{__typename: "Product", productId: "p"})')
    assert cost(literal.replace("($of: [_Any!]!)", ""), []) == cost(NODES, ["x"])


@pytest.mark.parametrize(
    ("count", "fields", "code"),
    [
        (101, "{ __typename }", "BAD_ARGUMENT"),
        (251, "{ __typename }", "QUERY_TOO_COSTLY"),
        (100, FIELDS, "QUERY_TOO_COSTLY"),
    ],
)
async def test_too_many_representations_are_refused_before_a_read(
    table: Table, count: int, fields: str, code: str
) -> None:
    answer, reads = await asked(
        table, ENTITIES.replace(FIELDS, fields), [node("Comment", f"c{n}")[0] for n in range(count)]
    )
    assert answer["data"] is None
    assert [error["extensions"]["code"] for error in answer["errors"]] == [code]
    assert reads == {}


TYPES = "Product or ProductGroup or Comment or Author"


@pytest.mark.parametrize(
    ("representation", "key", "value"),
    [
        ("Product", "", TYPES),
        ([], "", TYPES),
        ({"productId": "p1"}, "", TYPES),
        ({"__typename": ["Product"]}, "", TYPES),
        ({"__typename": "product", "productId": "p1"}, "", TYPES),
        ({"__typename": "Order", "id": to_base64("Order", "1")}, "", TYPES),
        ({"__typename": "Product"}, "", "Product needs productId"),
        ({"__typename": "Product", "id": to_base64("Product", "p1")}, "", "needs productId"),
        ({"__typename": "Product", "productId": 1}, "", "Product needs productId"),
        ({"__typename": "Product", "productId": ""}, ".productId", "empty"),
        ({"__typename": "Product", "productId": " "}, ".productId", "' '"),
        ({"__typename": "Comment", "id": None}, "", "Comment needs id"),
        ({"__typename": "Comment", "id": "1"}, ".id", "'1'"),
        ({"__typename": "Author", "username": "ann"}, "", "Author needs id"),
        ({"__typename": "Comment", "id": to_base64("Product", "1")}, ".id", "'UHJvZHVjdDox'"),
        (product(to_base64("Product", "1"))[0], ".productId", "'UHJvZHVjdDox'"),
    ],
)
async def test_an_invalid_representation_is_an_error_in_its_place(
    table: Table, representation: object, key: str, value: str
) -> None:
    valid = product("p1")[0]
    answer, _ = await asked(
        table, ENTITIES.replace(FIELDS, "{ __typename }"), [valid, representation, valid]
    )
    assert answer["data"]["found"] == [{"__typename": "Product"}, None, {"__typename": "Product"}]
    (error,) = answer["errors"]
    assert value in error["message"]
    assert error["path"] == ["found", 1]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": f"representations.1{key}"}


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
).filter(lambda value: value is not None)


@given(
    st.lists(
        json
        | st.fixed_dictionaries(
            {
                "__typename": st.sampled_from(["Product", "Comment", "Author", "User", "_Any"])
                | json
            },
            optional={"productId": json, "id": json},
        ),
        max_size=6,
    )
)
async def test_any_json_is_a_product_or_a_client_error(representations: list[Any]) -> None:
    run = runner(SUBGRAPH, Stores(Table(None, "none")))  # type: ignore[arg-type]
    text = ENTITIES.replace(FIELDS, "{ ... on Product { productId } }")
    answer = await run(text, of=representations)
    assert {error["extensions"]["code"] for error in answer["errors"]} <= {"BAD_ARGUMENT"}
    for representation, found in zip(representations, answer["data"]["found"], strict=True):
        assert found is None or found["productId"] == representation["productId"]


def test_no_field_of_federation_returns_a_private_type() -> None:
    assert leading_to(SUBGRAPH, PRIVATE) == leading_to(PUBLIC, PRIVATE)
    entity: Any = SUBGRAPH._schema.type_map["_Entity"]
    assert {type_.name for type_ in entity.types} == {
        "Product",
        "ProductGroup",
        "Comment",
        "Author",
    }


async def test_the_subgraphs_sdl_is_the_public_schema_with_keys() -> None:
    run = runner(SUBGRAPH, None)  # type: ignore[arg-type]
    sdl = (await run("{ _service { sdl } }"))["data"]["_service"]["sdl"]
    public = (ROOT / "schema.graphql").read_text("utf-8")
    assert PUBLIC.as_str() == public.rstrip("\n")
    link = "https://specs.apollo.dev/federation/v2.0"
    assert sdl.count(" @shareable") == 1
    added = sdl.replace(" @shareable", "").removeprefix(public).split("\n")
    assert [line for line in added if line] == [
        f'extend schema @link(url: "{link}", import: ["@key", "@shareable"])',
        'extend type Product @key(fields: "productId")',
        'extend type ProductGroup @key(fields: "groupId")',
        'extend type Comment @key(fields: "id")',
        'extend type Author @key(fields: "id")',
    ]


async def test_gateways_do_not_see_a_hidden_schema() -> None:
    run = runner(build_schema(introspection=False, federation=True), None)  # type: ignore[arg-type]
    for viewer in (None, STAFF):
        answer = await run("{ _service { sdl } }", viewer)
        assert answer["data"] is None
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN"


def test_a_subgraph_has_the_same_facts() -> None:
    """The roots of a subgraph inherit their fields."""
    facts, subgraph = (build_schema(explain=True, federation=one).facts for one in (False, True))
    assert subgraph.public == facts.public
    assert subgraph.reads.keys() - facts.reads.keys() == {"Query._entities"}


def test_the_schema_of_the_subgraph_is_printed() -> None:
    subgraph = called("schema", "--federation").stdout
    assert 'extend type Product @key(fields: "productId")' in subgraph


async def test_a_subgraph_serves_its_schema_as_a_file(table: Table) -> None:
    async with serving(table, federation=True) as client:
        answer = await client.get("/schema.graphql")
    assert "@key(fields:" in answer.text
