"""Statistics, totals and leaderboards in GraphQL."""

from collections import Counter

import pytest

from dal.dynamodb.table import Table
from dal.model.languages import language_of
from dal.query.cursors import encode_cursor
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests import oracle
from tests.calls import calls_of
from tests.fakes import FaultyClient
from tests.putting import put_comments
from tests.schema.conftest import ANN, Run
from tests.strategies import comment

DATA = oracle.flagged(oracle.make_comments("4/2", 60, seed=3))
STATISTICS = """
query ($language: [String!]) {
  product(productId: "4/2") {
    statistics(language: $language) {
      total average histogram { rating count } languages { language count }
    }
  }
}
"""
TOTAL = """
query (
  $rating: [Int!], $language: [String!], $verified: Boolean, $photos: Boolean, $first: Int
  $after: String
) {
  product(productId: "4/2") {
    comments(
      rating: $rating, language: $language, verifiedOnly: $verified, hasPhotos: $photos
      first: $first, after: $after
    ) { nodes { id } totalCount pageInfo { endCursor } }
  }
}
"""
BOARD = """
query ($language: String, $first: Int, $after: String, $last: Int, $before: String) {
  leaderboard(
    language: $language, first: $first, after: $after, last: $last, before: $before
  ) {
    edges { cursor node { rank count product { productId } } }
    nodes { rank }
    pageInfo { hasNextPage hasPreviousPage }
  }
}
"""


@pytest.fixture(autouse=True)
async def stored(stores: Stores) -> None:
    await put_comments(stores.comments, DATA)
    await stores.boards.finish()


@pytest.mark.parametrize("language", [None, ["en"], ["EN", "de", "xx"], []])
async def test_statistics_are_counted_by_rating_and_language(
    run: Run, language: list[str] | None
) -> None:
    answer = await run(STATISTICS, language=language)
    assert not answer["errors"]
    tags = None if language is None else frozenset(one.lower() for one in language)
    rows = oracle.selected(DATA, Selection("4/2", languages=tags))
    ratings = Counter(row.rating for row in rows)
    languages = Counter(language_of(row.language) for row in rows)
    assert answer["data"]["product"]["statistics"] == {
        "total": len(rows),
        "average": sum(row.rating for row in rows) / len(rows) if rows else None,
        "histogram": [{"rating": one, "count": ratings[one]} for one in (5, 4, 3, 2, 1)],
        "languages": [
            {"language": tag, "count": count}
            for tag, count in sorted(languages.items(), key=lambda one: (-one[1], one[0]))
        ],
    }


async def test_a_product_without_comments_has_statistics(run: Run) -> None:
    answer = await run('{ product(productId: "new") { statistics { total average } } }')
    assert answer["data"]["product"]["statistics"] == {"total": 0, "average": None}


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"rating": [5, 1]},
        {"language": ["de", "EN"]},
        {"rating": 4, "language": "en"},
        {"verified": True},
        {"photos": True, "rating": [5, 4]},
        {"verified": True, "photos": True},
    ],
    ids=str,
)
async def test_the_total_counts_all_pages_of_the_filtered_list(
    run: Run, filters: dict[str, object]
) -> None:
    whole = await run(TOTAL, **filters, first=100)
    wanted = len(whole["data"]["product"]["comments"]["nodes"])
    after = None
    for first in (0, 3, 3):
        answer = await run(TOTAL, **filters, first=first, after=after)
        page = answer["data"]["product"]["comments"]
        assert page["totalCount"] == wanted > 4
        after = page["pageInfo"]["endCursor"]


async def test_the_total_includes_the_latest_write(run: Run) -> None:
    add = "mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"
    given = {"productId": "4/2", "rating": 5, "language": "en", "text": "New"}
    for more in (1, 2, 3):
        await run(add, ANN, input=given)
        answer = await run(TOTAL)
        assert answer["data"]["product"]["comments"]["totalCount"] == len(DATA) + more


async def test_the_total_costs_nothing_unless_it_is_selected(run: Run, table: Table) -> None:
    # Fills the caches of the optimizer.
    await run('{ product(productId: "none") { comments { nodes { id } } } }')
    calls = calls_of(table)
    consistent = []
    for selected in ("", "totalCount"):
        calls.clear()
        operation = f"comments(first: 5) {{ {selected} nodes {{ id }} }}"
        await run(f'{{ product(productId: "none") {{ {operation} }} }}')
        consistent.append([one.get("ConsistentRead", False) for one in calls.queries])
    plain, counted = consistent
    assert sorted(counted) == sorted([*plain, True]), "one consistent Query more"


async def test_the_leaderboard_ranks_products_by_their_number_of_fives(
    run: Run, stores: Stores
) -> None:
    counts = {"a": 9, "b": 10, "c": 100}
    await put_comments(
        stores.comments,
        [
            comment(f"{product}-{number}", product_id=product, rating=5, language="fr")
            for product, count in counts.items()
            for number in range(count)
        ],
    )
    await stores.boards.finish()
    answer = await run(BOARD, language="FR", first=2)
    assert not answer["errors"]
    board = answer["data"]["leaderboard"]
    places = [
        (edge["node"]["rank"], edge["node"]["product"]["productId"], edge["node"]["count"])
        for edge in board["edges"]
    ]
    mine = sum(row.rating == 5 and row.language == "fr" for row in DATA)
    assert mine < 9
    assert places == [(1, "c", 100), (2, "b", 10)]
    assert board["pageInfo"] == {"hasNextPage": True, "hasPreviousPage": False}
    answer = await run(BOARD, language="fr", after=board["edges"][-1]["cursor"])
    board = answer["data"]["leaderboard"]
    assert [node["rank"] for node in board["nodes"]] == [3, 4]
    assert board["pageInfo"] == {"hasNextPage": False, "hasPreviousPage": True}
    answer = await run(BOARD, language="fr", last=2, before=board["edges"][-1]["cursor"])
    board = answer["data"]["leaderboard"]
    assert [node["rank"] for node in board["nodes"]] == [2, 3]
    assert board["pageInfo"] == {"hasNextPage": True, "hasPreviousPage": True}


async def test_a_leaderboard_has_twenty_rows_by_default(run: Run, stores: Stores) -> None:
    await put_comments(stores.comments, [comment(f"c{n}", product_id=f"p{n}") for n in range(25)])
    await stores.boards.finish()
    for variables in ({}, {"first": None}):
        answer = await run(BOARD, **variables)
        assert len(answer["data"]["leaderboard"]["nodes"]) == 20


@pytest.mark.parametrize("selected", ["nodes { rank }", "edges { node { rank } }"])
async def test_a_rank_is_returned_by_every_selection_of_it(
    run: Run, stores: Stores, selected: str
) -> None:
    await put_comments(stores.comments, [comment(f"c{n}", product_id=f"p{n}") for n in range(3)])
    await stores.boards.finish()
    first = (await run(BOARD, first=1))["data"]["leaderboard"]
    answer = await run(
        f"query ($after: String) {{ leaderboard(first: 1, after: $after) {{ {selected} }} }}",
        after=first["edges"][0]["cursor"],
    )
    assert answer["errors"] == []
    assert str(answer["data"]).count("'rank': 2") == 1


@pytest.mark.parametrize("selected", ["statistics { total }", "comments(first: 1) { totalCount }"])
async def test_statistics_are_read_consistently(run: Run, table: Table, selected: str) -> None:
    client = FaultyClient(table.service)
    table.service = client
    await run(f'{{ product(productId: "4/2") {{ {selected} }} }}')
    read = [arguments for _, arguments in client.calls if "IndexName" not in arguments]
    assert any(arguments.get("ConsistentRead") for arguments in read)


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"language": "english"}, "BAD_ARGUMENT"),
        ({"first": 101}, "BAD_ARGUMENT"),
        ({"first": 1, "last": 1}, "BAD_ARGUMENT"),
        ({"after": encode_cursor("2020-11-20T12:00:00.000000Z#1")}, "BAD_CURSOR"),
        ({"after": "garbage"}, "BAD_CURSOR"),
    ],
)
async def test_a_bad_argument_has_a_code(run: Run, variables: dict[str, object], code: str) -> None:
    (error,) = (await run(BOARD, **variables))["errors"]
    assert error["extensions"]["code"] == code


async def test_a_list_of_comments_refuses_a_cursor_of_a_leaderboard(run: Run) -> None:
    (error,) = (await run(TOTAL, after=encode_cursor("000000000010#p")))["errors"]
    assert error["extensions"]["code"] == "BAD_CURSOR"


async def test_ranks_beyond_the_ranked_products_are_null(
    run: Run, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_comments(stores.comments, [comment(f"c{n}", product_id=f"p{n}") for n in range(5)])
    await stores.boards.finish()
    first = (await run(BOARD, first=2))["data"]["leaderboard"]
    monkeypatch.setattr("dal.repositories.leaderboard.RANKED", 2)
    answer = await run(BOARD, after=first["edges"][-1]["cursor"])
    assert answer["errors"] == []
    ranks = [node["rank"] for node in answer["data"]["leaderboard"]["nodes"]]
    assert ranks == [None] * len(ranks)
    assert len(ranks) == 4


async def test_an_operation_may_read_a_limited_number_of_statistics(run: Run) -> None:
    nested = "comments(first: 60) { nodes { product { statistics { total } } } }"
    aliased = " ".join(f"a{number}: {nested}" for number in range(5))
    answer = await run(f'{{ product(productId: "4/2") {{ {aliased} }} }}')
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"QUERY_TOO_COSTLY"}


FACETS = """
query ($rating: [Int!], $language: [String!]) {
  product(productId: "4/2") {
    statistics {
      facets(rating: $rating, language: $language) {
        total average ratings { rating count selected } languages { language count selected }
      }
    }
    comments(rating: $rating, language: $language) { totalCount }
  }
}
"""


@pytest.mark.parametrize(
    "filters",
    [{}, {"rating": [5, 1]}, {"language": ["DE", "xx"]}, {"rating": 4, "language": "en"}],
    ids=str,
)
async def test_the_count_of_a_facet_is_the_total_of_its_list(
    run: Run, filters: dict[str, object]
) -> None:
    answer = await run(FACETS, **filters)
    assert not answer["errors"]
    product = answer["data"]["product"]
    facets = product["statistics"]["facets"]
    assert facets["total"] == product["comments"]["totalCount"]
    for facet, name in (("ratings", "rating"), ("languages", "language")):
        for one in facets[facet]:
            opened = await run(TOTAL, **filters | {name: one[name]})
            assert one["count"] == opened["data"]["product"]["comments"]["totalCount"]
    languages = [one["language"] for one in facets["languages"] if one["selected"]]
    assert languages == (
        ["de", "xx"]
        if filters.get("language") == ["DE", "xx"]
        else [filters["language"]]
        if "language" in filters
        else []
    )


async def test_facets_need_no_other_read(run: Run, table: Table) -> None:
    client = FaultyClient(table.service)
    table.service = client
    facets = 'facets(rating: 5, language: "en") { total ratings { count } }'
    answer = await run(f'{{ product(productId: "4/2") {{ statistics {{ total {facets} }} }} }}')
    assert not answer["errors"]
    assert [operation for operation, _ in client.calls] == ["query"]


async def test_the_filter_of_facets_is_checked(run: Run) -> None:
    answer = await run(FACETS, rating=[6])
    assert answer["data"]["product"]["statistics"]["facets"] is None
    assert answer["errors"][0]["extensions"]["code"] == "BAD_ARGUMENT"
