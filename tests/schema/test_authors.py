"""An author's comments in GraphQL."""

from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse

from dal.dynamodb.table import Table
from dal.stores import Stores
from resolvers.context import Viewer
from schema.execution.cost import predicted
from schema.execution.executable_schema import ExecutableSchema
from schema.execution.visibility import is_public
from tests import oracle
from tests.calls import calls_of
from tests.dal.read_pages import ReadPages
from tests.putting import put_comments
from tests.schema.conftest import STAFF, Run, runner

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
    }
  }
}
"""


@pytest.fixture
async def listing(schema: ExecutableSchema, table: Table) -> Run:
    await put_comments(Stores(table).comments, DATA)
    return runner(schema, Stores(table))


async def test_an_authors_comments_are_paged_in_both_directions(listing: Run) -> None:
    found, after = [], None
    while True:
        answer = await listing(PAGE, None, username=NAME, first=9, after=after)
        assert answer["errors"] == []
        page = answer["data"]["author"]["comments"]
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


async def test_an_authors_page_with_products_is_one_query(
    schema: ExecutableSchema, listing: Run, table: Table
) -> None:
    noted = Table(table.service, table.name)
    stores, calls = Stores(noted), calls_of(noted)
    calls.clear()
    run = runner(schema, stores)
    pages = ReadPages()
    asked = '{ author(username: "bob") { comments { nodes { product { productId } } } } }'
    assert not (await run(asked, pages=pages))["errors"]
    assert [page.summary for page in pages] == [("AP12", "byAuthor", 1)]
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
async def test_bad_arguments_of_an_author_are_reported(
    listing: Run, variables: dict[str, object], code: str
) -> None:
    (error,) = (await listing(PAGE, None, **variables))["errors"]
    assert error["extensions"]["code"] == code


ANA = Viewer("auth0|64f0c1", name="Ana Pérez")
RENAMED = Viewer(ANA.user_id, name="Ana P. Gómez")
ADD = """
mutation ($input: AddCommentInput!) {
  addComment(input: $input) {
    comment { id username authorName author { id username name } }
    userErrors { code }
  }
}
"""
NEW = {"productId": "42", "rating": 4, "language": "en", "text": "It boils."}


async def test_the_viewers_name_is_that_in_the_jwt(run: Run) -> None:
    text = "{ viewer { username name } user(username: $name) { name } }"
    text = f"query ($name: String!) {text}"
    data = (await run(text, ANA, name=ANA.user_id))["data"]
    assert data["viewer"] == {"username": ANA.user_id, "name": "Ana Pérez"}
    assert data["user"] == {"name": "Ana Pérez"}
    assert (await run(text, STAFF, name="none"))["data"]["user"] == {"name": "none"}


async def test_an_author_is_found_by_id_and_shown_with_the_display_name(run: Run) -> None:
    async def added(viewer: Viewer, **given: str) -> dict[str, Any]:
        payload = (await run(ADD, viewer, input=NEW | given))["data"]["addComment"]
        assert payload["userErrors"] == []
        comment: dict[str, Any] = payload["comment"]
        return comment

    first = await added(ANA, idempotencyKey="once")
    assert first["username"] == first["author"]["username"] == ANA.user_id
    assert first["authorName"] == first["author"]["name"] == "Ana Pérez"
    assert await added(RENAMED, idempotencyKey="once") == first, "the same input is the same add"

    edit = (
        f'mutation {{ updateComment(input: {{ id: "{first["id"]}", title: "T" }})'
        " { comment { authorName } } }"
    )
    edited = await run(edit, RENAMED)
    assert edited["data"]["updateComment"]["comment"] == {"authorName": "Ana Pérez"}

    await added(RENAMED)
    text = """query ($username: String!, $id: ID!) {
      author(username: $username) { id name comments { nodes { authorName author { name } } } }
      node(id: $id) { id ... on Author { username name } }
      nodes(ids: [$id]) { ... on Author { username } }
    }"""
    id_ = first["author"]["id"]
    data = (await run(text, username=ANA.user_id, id=id_))["data"]
    names = ["Ana P. Gómez", "Ana Pérez"]
    nodes = [{"authorName": name, "author": {"name": name}} for name in names]
    assert data["author"] == {"id": id_, "name": "Ana P. Gómez", "comments": {"nodes": nodes}}
    assert data["node"] == {"id": id_, "username": ANA.user_id, "name": "Ana P. Gómez"}
    assert data["nodes"] == [{"username": ANA.user_id}]


@pytest.mark.parametrize(
    ("text", "queries", "predicted_requests"),
    [
        ('{ author(username: "bob") { id username } }', 0, 0),
        ('{ author(username: "bob") { name } }', 1, 1),
        ('{ author(username: "none") { name } }', 1, 1),
        ('{ a: author(username: "bob") { name } b: author(username: "bob") { name } }', 1, 2),
        ('{ product(productId: "p1") { comments { nodes { author { id name } } } } }', 1, 1),
        ('{ author(username: "bob") { comments { nodes { author { name } } } } }', 1, 1),
    ],
)
async def test_a_display_name_is_read_only_if_no_comment_contains_it(
    schema: ExecutableSchema,
    listing: Run,
    table: Table,
    text: str,
    queries: int,
    predicted_requests: int,
) -> None:
    del listing  # the fixture has filled the table
    noted = Table(table.service, table.name)
    stores, calls = Stores(noted), calls_of(noted)
    answer = await runner(schema, stores)(text)
    assert answer["errors"] == []
    author = answer["data"].get("author", {})
    assert author.get("name", "bob") in {"bob", "none"}
    lists = [query for query in calls.queries if query.get("IndexName")]
    assert len(lists) == queries
    if "comments" not in text:
        assert [query["Limit"] for query in lists] == [1] * queries
    document = parse(text)
    (operation,) = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    costs = predicted(schema._schema, document, operation, schema.facts, {})
    assert costs.usual_requests == predicted_requests
    assert is_public(schema._schema, document, operation, schema.facts.public)


def test_an_authors_page_is_public_and_costs_one_read(schema: ExecutableSchema) -> None:
    inner = "comments(first: 100) { nodes { author { comments(first: 5) { nodes { text } } } } }"
    document = parse(f'{{ author(username: "a") {{ {inner} }} }}')
    (operation,) = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    assert predicted(schema._schema, document, operation, schema.facts, {}).usual_requests == 101
    assert is_public(schema._schema, document, operation, schema.facts.public)
