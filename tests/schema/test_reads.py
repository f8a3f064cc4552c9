"""The queries of the documentation, as clients send them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from dal.catalogue import Order
from dal.model import Comment
from dal.repositories.comments import CommentRepository, Selection
from dal.table.key_parts import format_instant
from resolvers.context import Viewer
from resolvers.selection import CommentOrder
from tests import oracle
from tests.dal.read_pages import ReadPages
from tests.putting import put_comments
from tests.schema.conftest import ANN, STAFF, Answer, Run

PAGE = """
query ($product: ID!, $rating: [Int!], $language: [String!],
       $first: Int, $after: String, $last: Int, $before: String) {
  product(productId: $product) {
    comments(rating: $rating, language: $language,
             first: $first, after: $after, last: $last, before: $before) {
      edges { cursor node { commentId rating language } }
      nodes { commentId }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""

DATA = oracle.voted(oracle.make_comments("4/2#%é", 50, seed=3))
PRODUCT = DATA[0].product_id


@pytest.fixture(autouse=True)
async def stored(comments: CommentRepository) -> None:
    await put_comments(comments, DATA)


def ids(comments: Sequence[Comment]) -> list[str]:
    return [comment.comment_id for comment in comments]


async def test_the_first_page_is_the_newest_twenty(run: Run) -> None:
    answer = await run(PAGE, product=PRODUCT)
    assert not answer["errors"]
    page = answer["data"]["product"]["comments"]
    newest = ids(oracle.newest_first(DATA))[:20]
    assert [edge["node"]["commentId"] for edge in page["edges"]] == newest
    assert [node["commentId"] for node in page["nodes"]] == newest
    assert page["pageInfo"] == {
        "hasNextPage": True,
        "hasPreviousPage": False,
        "startCursor": page["edges"][0]["cursor"],
        "endCursor": page["edges"][-1]["cursor"],
    }


@pytest.mark.parametrize("filters", [{"rating": []}, {"language": []}])
async def test_an_empty_list_of_values_selects_no_comment(
    run: Run, filters: dict[str, object]
) -> None:
    answer = await run(PAGE, product=PRODUCT, **filters)
    assert answer["data"]["product"]["comments"] == {
        "edges": [],
        "nodes": [],
        "pageInfo": {
            "hasNextPage": False,
            "hasPreviousPage": False,
            "startCursor": None,
            "endCursor": None,
        },
    }


DATED = """
query ($product: ID!, $rating: [Int!], $from: DateTime, $end: DateTime, $order: CommentOrder,
       $first: Int, $after: String, $last: Int, $before: String) {
  product(productId: $product) {
    comments(rating: $rating, createdFrom: $from, createdBefore: $end, orderBy: $order,
             first: $first, after: $after, last: $last, before: $before) {
      nodes { commentId } totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""


async def dated(run: Run, **variables: object) -> tuple[list[str], dict[str, Any]]:
    answer = await run(DATED, product=PRODUCT, **variables)
    assert answer["errors"] == []
    page = answer["data"]["product"]["comments"]
    return [node["commentId"] for node in page["nodes"]], page


@pytest.mark.parametrize("order", ["NEWEST", "OLDEST", None])
async def test_comments_are_filtered_by_dates_and_sorted_in_both_orders(
    run: Run, order: str | None
) -> None:
    """Two comments have the start date as their time, and one comment the end date."""
    start, end = oracle.START + timedelta(hours=7), oracle.START + timedelta(hours=29)
    selection = Selection(PRODUCT, None, None, start, end)
    wanted = ids(oracle.selected(DATA, selection))[:: -1 if order == "OLDEST" else 1]
    given = {"from": start.isoformat(), "end": end.isoformat(), "order": order}
    shown, page = await dated(run, **given, first=9)
    assert shown == wanted[:9]
    assert (page["pageInfo"]["hasNextPage"], page["pageInfo"]["hasPreviousPage"]) == (True, False)
    shown, page = await dated(run, **given, first=50, after=page["pageInfo"]["endCursor"])
    assert shown == wanted[9:]
    assert (page["pageInfo"]["hasNextPage"], page["pageInfo"]["hasPreviousPage"]) == (False, True)
    shown, _ = await dated(run, **given, last=4, before=page["pageInfo"]["startCursor"])
    assert shown == wanted[5:9]


@pytest.mark.parametrize("order", ["HIGHEST_RATING", "LOWEST_RATING", "MOST_HELPFUL"])
async def test_comments_are_sorted_by_rating_and_by_votes(run: Run, order: str) -> None:
    """The rows are right in both directions, with filters. Other orders refuse the cursors."""
    start = oracle.START + timedelta(hours=3)
    selection = Selection(PRODUCT, frozenset({1, 2, 5}), None, start, order=Order[order])
    wanted = ids(oracle.selected(DATA, selection))
    given = {"from": start.isoformat(), "rating": [1, 2, 5], "order": order}
    shown, page = await dated(run, **given, first=9)
    assert shown == wanted[:9]
    info = page["pageInfo"]
    assert (info["hasNextPage"], info["hasPreviousPage"]) == (True, False)
    assert (await dated(run, **given, first=100, after=info["endCursor"]))[0] == wanted[9:]
    assert (await dated(run, **given, last=4, before=info["endCursor"]))[0] == wanted[4:8]
    assert (await dated(run, **given, last=7))[0] == wanted[-7:]
    assert (await dated(run, order=order))[1]["totalCount"] == len(DATA)
    for other in {*CommentOrder} - {order}:
        answer = await run(DATED, product=PRODUCT, order=other, after=info["endCursor"])
        assert [error["extensions"]["code"] for error in answer["errors"]] == ["BAD_CURSOR"]


async def test_a_cursor_is_valid_in_the_reverse_order_and_with_other_dates(run: Run) -> None:
    newest = ids(oracle.newest_first(DATA))
    _, page = await dated(run, first=10)
    cursor = page["pageInfo"]["endCursor"]
    assert (await dated(run, order="OLDEST", after=cursor))[0] == newest[:9][::-1]
    start = oracle.newest_first(DATA)[14].created_at
    shown, page = await dated(run, **{"from": start.isoformat(), "after": cursor})
    assert shown == newest[10:15]
    # All rows between the dates precede the cursor.
    start = oracle.newest_first(DATA)[4].created_at
    shown, page = await dated(run, **{"from": start.isoformat(), "after": cursor})
    assert shown == []
    assert page["pageInfo"]["hasPreviousPage"]


async def test_a_total_with_dates_is_known_if_the_page_has_all_rows(run: Run) -> None:
    """No comment of any date passes some filters: the counters then know the total of any page."""
    start = oracle.START.isoformat()
    assert (await dated(run, **{"from": start}))[1]["totalCount"] is None
    assert (await dated(run, **{"from": start}, first=100))[1]["totalCount"] == len(DATA)
    assert (await dated(run, **{"from": start}, last=100))[1]["totalCount"] == len(DATA)
    cursor = (await dated(run, **{"from": start}, first=1))[1]["pageInfo"]["endCursor"]
    assert (await dated(run, **{"from": start}, after=cursor))[1]["totalCount"] is None
    assert (await dated(run, end=start, first=0))[1]["totalCount"] == 0
    assert (await dated(run, order="OLDEST"))[1]["totalCount"] == len(DATA)
    assert (await dated(run, **{"from": start, "end": start}))[1]["totalCount"] == 0
    none = {"from": start, "rating": [], "after": cursor}
    assert (await dated(run, **none))[1]["totalCount"] == 0
    answer = await run(DATED, product="unheard of", **{"from": start, "after": cursor})
    assert answer["data"]["product"]["comments"]["totalCount"] == 0


@pytest.mark.parametrize(
    ("field", "viewer"),
    [
        ('product(productId: "1") { comments', None),
        ('user(username: "ann") { orders', ANN),
        ("openOrders", STAFF),
    ],
)
async def test_a_start_date_after_the_end_date_is_refused(
    run: Run, field: str, viewer: Viewer | None
) -> None:
    """If start and end are equal, the period is empty, which is valid."""
    close = "}" if "{" in field else ""

    async def ask(start: str, end: str) -> Answer:
        arguments = f'createdFrom: "{start}", createdBefore: "{end}"'
        return await run(f"{{ {field}({arguments}) {{ nodes {{ id }} }} {close} }}", viewer)

    (error,) = (await ask("2024-01-02T00:00Z", "2024-01-01T00:00Z"))["errors"]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": "createdFrom"}
    assert error["message"] == "createdFrom is after createdBefore: exchange the two."
    (error,) = (await ask("2024-01-02T00:00Z", "9999-12-31T23:00-05:00"))["errors"]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": "createdBefore"}
    (error,) = (await ask("yesterday", "2024-01-02T00:00Z"))["errors"]
    assert error["extensions"] == {"code": "BAD_REQUEST"}
    assert error["message"].startswith("createdFrom: expected DateTime with an offset")
    assert (await ask("2024-01-02T00:00Z", "2024-01-02T00:00Z"))["errors"] == []


async def test_a_product_without_comments_has_an_empty_page(run: Run) -> None:
    answer = await run(
        '{ product(productId: "nothing") { productId lastCommentedAt mostRecentPositive { id }'
        " mostRecentNegative { id } comments { nodes { id } } } }"
    )
    assert answer == {
        "data": {
            "product": {
                "productId": "nothing",
                "lastCommentedAt": None,
                "mostRecentPositive": None,
                "mostRecentNegative": None,
                "comments": {"nodes": []},
            }
        },
        "errors": [],
    }


async def test_the_newest_positive_and_critical_comments_are_found(run: Run) -> None:
    answer = await run(
        f'{{ product(productId: "{PRODUCT}") {{ lastCommentedAt'
        " mostRecentPositive { commentId } mostRecentNegative { commentId } } }"
    )
    newest = oracle.newest_first(DATA)
    assert answer["data"]["product"] == {
        "lastCommentedAt": format_instant(newest[0].created_at),
        "mostRecentPositive": {"commentId": next(c.comment_id for c in newest if c.rating > 3)},
        "mostRecentNegative": {"commentId": next(c.comment_id for c in newest if c.rating < 3)},
    }


async def test_a_comment_by_its_id_and_as_a_node(run: Run) -> None:
    one = DATA[7]
    answer = await run(
        "query ($id: ID!) { comment(commentId: $id) { id title text username"
        " author { username } rating language createdAt updatedAt verifiedPurchase"
        " product { id productId } } }",
        id=one.comment_id,
    )
    shown = answer["data"]["comment"]
    assert shown == {
        "id": shown["id"],
        "title": one.title,
        "text": one.text,
        "username": one.username,
        "author": {"username": one.username},
        "rating": one.rating,
        "language": one.language,
        "createdAt": format_instant(one.created_at),
        "updatedAt": None,
        "verifiedPurchase": False,
        "product": {"id": shown["product"]["id"], "productId": PRODUCT},
    }
    nodes = await run(
        "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id"
        " ... on Comment { commentId } ... on Product { productId } } }",
        ids=[shown["product"]["id"], "Q29tbWVudDpnb25l", shown["id"], "nonsense", shown["id"]],
    )
    product = {"__typename": "Product", "id": shown["product"]["id"], "productId": PRODUCT}
    comment = {"__typename": "Comment", "id": shown["id"], "commentId": one.comment_id}
    assert nodes["data"]["nodes"] == [product, None, comment, None, comment]
    assert [(error["path"], error["extensions"]["code"]) for error in nodes["errors"]] == [
        (["nodes", 3], "BAD_ARGUMENT")
    ]


async def test_nodes_accepts_at_most_100_ids(run: Run) -> None:
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    gone = "Q29tbWVudDpnb25l"
    assert await run(query, ids=[gone] * 100) == {"data": {"nodes": [None] * 100}, "errors": []}
    (error,) = (await run(query, ids=[gone] * 101))["errors"]
    assert error["extensions"] == {"code": "BAD_ARGUMENT", "argument": "ids"}


async def test_a_missing_object_looked_up_by_id_is_null(run: Run) -> None:
    answer = await run('{ comment(commentId: "gone") { id } node(id: "Q29tbWVudDpnb25l") { id } }')
    assert answer == {"data": {"comment": None, "node": None}, "errors": []}


async def test_pagination_flags_cost_nothing_unless_selected(run: Run) -> None:
    limits = []
    for flags in ("pageInfo { endCursor }", "pageInfo { hasNextPage }"):
        pages = ReadPages()
        connection = f"comments(first: 5) {{ {flags} }}"
        await run(f'{{ product(productId: "{PRODUCT}") {{ {connection} }} }}', pages=pages)
        ((_, plan),) = pages[0].plans
        limits.append(([one.limit for one in plan.segments], pages[0].queries))
    assert limits == [([5], 1), ([6], 1)]
