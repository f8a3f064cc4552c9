"""An author's comments, as a client asks for them."""

import pytest
from graphql import OperationDefinitionNode, parse
from strawberry import Schema

from dal.client.table import Table
from dal.stores import Stores
from schema.execution.cost import predicted
from schema.execution.visibility import is_public
from schema.field_reads import READS
from tests import oracle
from tests.calls import calls_of
from tests.schema.conftest import Run, runner

NAME = "Zoë / 50 % #1 🙂"
DATA = [
    one._replace(username=NAME if number % 3 else "bob", product_id=f"p{number % 4}")
    for number, one in enumerate(oracle.make_comments("p", 40, seed=2))
]
LIST = oracle.newest_first(one for one in DATA if one.username == NAME)

PAGE = """
query ($username: String!, $first: Int, $after: String, $last: Int, $before: String,
       $orderBy: DateOrder, $createdFrom: DateTime, $createdBefore: DateTime) {
  author(username: $username) {
    username
    comments(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy,
             createdFrom: $createdFrom, createdBefore: $createdBefore) {
      edges { cursor node { commentId product { productId } author { username } } }
      pageInfo { hasNextPage hasPreviousPage }
      totalCount
    }
  }
}
"""


@pytest.fixture
async def listing(schema: Schema, table: Table) -> Run:
    await Stores(table).comments.put_many(DATA)
    return runner(schema, Stores(table))


async def test_an_authors_comments_go_on_by_their_cursors_both_ways(listing: Run) -> None:
    found, after = [], None
    while True:
        answer = await listing(PAGE, None, username=NAME, first=9, after=after)
        assert answer["errors"] == []
        page = answer["data"]["author"]["comments"]
        assert page["totalCount"] is None
        found += [(one["node"]["commentId"], one["node"]["product"]) for one in page["edges"]]
        after = page["edges"][-1]["cursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert found == [(one.comment_id, {"productId": one.product_id}) for one in LIST]
    dates = {"createdFrom": str(LIST[20].created_at), "createdBefore": str(LIST[2].created_at)}
    answer = await listing(PAGE, None, username=NAME, last=3, orderBy="OLDEST", **dates)
    edges = answer["data"]["author"]["comments"]["edges"]
    within = [one for one in LIST if LIST[20].created_at <= one.created_at < LIST[2].created_at]
    assert [one["node"]["commentId"] for one in edges] == [
        one.comment_id for one in reversed(within[:3])
    ]
    assert edges[0]["node"]["author"] == {"username": NAME}


async def test_a_page_with_products_and_a_plan_is_one_query(
    schema: Schema, listing: Run, table: Table
) -> None:
    noted = Table(table.service, table.name)
    stores, calls = Stores(noted), calls_of(noted)
    calls.clear()
    run = runner(schema, stores)
    nodes = (
        "nodes { product { productId } } plan { index accessPattern requests segments { range } }"
    )
    answer = await run(f'{{ author(username: "bob") {{ comments {{ {nodes} }} }} }}', explain=True)
    plan = answer["data"]["author"]["comments"]["plan"]
    assert (plan["index"], plan["accessPattern"], plan["requests"]) == ("byAuthor", "AP12", 1)
    assert len(plan["segments"]) == 1
    assert calls.operations == {"Query": 1}


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"username": NAME, "after": "x"}, "BAD_CURSOR"),
        ({"username": ""}, "BAD_ARGUMENT"),
        ({"username": "a\n"}, "BAD_ARGUMENT"),
        ({"username": NAME, "first": 101}, "BAD_ARGUMENT"),
    ],
)
async def test_what_is_wrong_is_said(listing: Run, variables: dict[str, object], code: str) -> None:
    (error,) = (await listing(PAGE, None, **variables))["errors"]
    assert error["extensions"]["code"] == code


def test_an_authors_page_costs_one_read_and_is_everybodys(schema: Schema) -> None:
    inner = "comments(first: 100) { nodes { author { comments(first: 5) { nodes { text } } } } }"
    document = parse(f'{{ author(username: "a") {{ {inner} }} }}')
    (operation,) = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    assert predicted(schema._schema, document, operation, READS, {}).requests == 101
    assert is_public(schema._schema, document, operation)
