"""The rows and alternatives of a page's plan in the API, on a real engine."""

import json
from collections import Counter
from typing import Any

import pytest
from graphql import parse, validate
from strawberry import Schema

from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository, Selection
from dal.stores import Stores
from features.plans.reasons import ReasonCode
from features.plans.resolvers import TRACED
from schema.execution.cost import MAX_ANSWER_VALUES
from tests import oracle
from tests.putting import put_comments, put_orders
from tests.schema.conftest import STAFF, Run, explaining
from tests.schema.execution.test_cost import cost_of
from tests.strategies import TIES, order

DATA = oracle.voted(oracle.make_comments("42", 120, seed=5))
TRACE = """
requests itemsRead consumedCapacity estimatedCapacity index
segments { partitionKey limit itemsRead refills skipped skipReason }
steps { purpose index segments queries }
rows { position segment refill outcome }
alternatives {
  index residual expectedRows estimatedCapacity cost chosen reason
  segments { partitionKey range limit expectedRows }
}
fullPages { requests itemsRead capacity }
ideal { requests itemsRead capacity }
"""
COMMENTS = f"""
query ($rating: [Int!], $language: [String!], $orderBy: CommentOrder, $last: Int) {{
  product(productId: "42") {{
    comments(rating: $rating, language: $language, orderBy: $orderBy, last: $last) {{
      nodes {{ commentId }} pageInfo {{ hasNextPage hasPreviousPage }} plan {{ {TRACE} }}
    }}
  }}
}}
"""


@pytest.fixture
async def stored(comments: CommentRepository) -> None:
    await put_comments(comments, DATA)


def adds_up(page: dict[str, Any]) -> Counter[str]:
    """Check that the plan's rows agree with its counts. Return the number of rows by outcome."""
    plan = page["plan"]
    by_segment = Counter(row["segment"] for row in plan["rows"])
    assert len(plan["rows"]) == plan["itemsRead"]
    assert [by_segment[n] for n in range(len(plan["segments"]))] == [
        one["itemsRead"] for one in plan["segments"]
    ]
    outcomes = Counter(row["outcome"] for row in plan["rows"])
    assert outcomes["SHOWN"] == len(page["nodes"]) == plan["ideal"]["itemsRead"]
    assert sum(step["segments"] for step in plan["steps"]) == len(plan["segments"])
    assert plan["ideal"]["capacity"] <= plan["consumedCapacity"]
    assert [one["chosen"] for one in plan["alternatives"]][:1] == [True]
    assert plan["alternatives"][0]["index"] == plan["index"]
    sent = [json.loads(query) for step in plan["steps"] for query in step["queries"]]
    assert [(one["ExpressionAttributeValues"][":p"]["S"], one["Limit"]) for one in sent] == [
        (one["partitionKey"], one["limit"]) for one in plan["segments"] if not one["skipped"]
    ]
    for segment in plan["segments"]:
        assert segment["skipped"] == (segment["skipReason"] is not None)
    return outcomes


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"rating": [5]},
        {"rating": [1, 4], "language": ["en", "de"]},
        {"rating": [1, 2, 3, 4], "language": ["en"], "orderBy": "OLDEST"},
        {"rating": [2, 3], "last": 7},
        {"orderBy": "HIGHEST_RATING"},
        {"orderBy": "MOST_HELPFUL"},
        {"orderBy": "MOST_HELPFUL", "language": ["de"], "rating": [1]},
        {"rating": [1, 4], "language": ["en", "de"], "orderBy": "LOWEST_RATING"},
        {"language": [*oracle.LANGUAGES, "pt", "fi", "sv", "nb"], "rating": [1]},
    ],
)
@pytest.mark.usefixtures("stored")
async def test_the_rows_and_figures_of_a_plan_agree(run: Run, filters: dict[str, Any]) -> None:
    for _ in range(2):  # the second page is planned by row locations
        answer = await run(COMMENTS, **filters)
        assert not answer["errors"]
        adds_up(answer["data"]["product"]["comments"])


@pytest.mark.usefixtures("stored")
async def test_the_capacity_of_full_pages_equals_that_of_reading_them(
    run: Run, table: Table
) -> None:
    """Without statistics of the product, a process reads a full page from each partition."""
    answer = await run(COMMENTS, rating=[1, 5], language=["en", "de"])
    told = answer["data"]["product"]["comments"]["plan"]["fullPages"]
    took = 0.0
    for rating in (1, 5):
        for language in ("en", "de"):
            selection = Selection("42", frozenset({rating}), frozenset({language}))
            page = await Stores(table).comments.page(selection, Slice(21))
            took += page.stats.consumed_capacity
    assert told["requests"] == 4
    assert told["capacity"] == pytest.approx(took, abs=0.5)


BASES = ("ROW_LOCATIONS", "COUNTS", "NOTHING", "FULL_PAGES")
PLANNED = f"""
query ($rating: [Int!], $language: [String!], $orderBy: CommentOrder, $planBy: PlanBasis) {{
  product(productId: "42") {{
    comments(rating: $rating, language: $language, orderBy: $orderBy, planBy: $planBy) {{
      nodes {{ commentId }} plan {{ {TRACE} }}
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    "filters",
    [
        {"rating": [1, 2, 4, 5], "language": ["en"]},
        {"rating": [1, 3], "orderBy": "OLDEST"},
        {"rating": [2, 3], "language": ["en", "de", "xx"]},
    ],
)
@pytest.mark.usefixtures("stored")
async def test_every_plan_returns_the_same_page(run: Run, filters: dict[str, Any]) -> None:
    pages = {}
    for basis in BASES[::-1]:
        answer = await run(PLANNED, planBy=basis, **filters)
        assert not answer["errors"]
        pages[basis] = answer["data"]["product"]["comments"]
        adds_up(pages[basis])
    listed = [page["nodes"] for page in pages.values()]
    assert listed[0]
    assert all(one == listed[0] for one in listed)
    plans = {basis: page["plan"] for basis, page in pages.items()}
    articles = plans["FULL_PAGES"]
    partitions = len(filters["rating"]) * len(filters.get("language", "-"))
    assert articles["requests"] == articles["fullPages"]["requests"] == partitions
    assert articles["consumedCapacity"] == articles["fullPages"]["capacity"]
    assert plans["NOTHING"]["segments"] == articles["segments"], "without shards they are one"
    assert articles["estimatedCapacity"] is plans["NOTHING"]["estimatedCapacity"] is None
    assert plans["ROW_LOCATIONS"]["itemsRead"] <= plans["COUNTS"]["itemsRead"]
    reasons = {basis: plans[basis]["alternatives"][0]["reason"] for basis in BASES[:2]}
    assert reasons == {
        "ROW_LOCATIONS": ReasonCode.LEAST_BY_LOCATIONS,
        "COUNTS": ReasonCode.LEAST_BY_COUNTS,
    }
    usual = await run(PLANNED, **filters)
    assert usual["data"]["product"]["comments"]["nodes"] == listed[0]
    for part in ("segments", "rows", "consumedCapacity"):
        assert usual["data"]["product"]["comments"]["plan"][part] == plans["ROW_LOCATIONS"][part]


EXPLAIN_TYPES = {
    "KeyRange",
    "PlanAlternative",
    "PlanBasis",
    "PlanPurpose",
    "PlanReason",
    "PlanStep",
    "QueryPlan",
    "ReadFigures",
    "RowOutcome",
    "RowReading",
    "SegmentReading",
}


def test_only_a_server_with_explain_has_plans_in_its_schema(schema: Schema) -> None:
    types, explained = schema._schema.type_map, explaining()._schema.type_map
    assert explained.keys() - types.keys() >= EXPLAIN_TYPES
    document = """query ($by: PlanBasis) { product(productId: "42") {
        comments(planBy: $by) { plan { index } } } }"""
    assert [error.message for error in validate(schema._schema, parse(document))] == [
        "Unknown type 'PlanBasis'.",
        "Unknown argument 'planBy' on field 'Product.comments'.",
        "Cannot query field 'plan' on type 'CommentConnection'.",
    ]
    assert validate(explaining()._schema, parse(document)) == []


async def test_the_plan_of_open_orders_has_a_segment_for_each_shard(run: Run, table: Table) -> None:
    made = [order(f"o{n}", username=f"user{n}", created_at=TIES[n % 3]) for n in range(12)]
    await put_orders(table, made)
    answer = await run(
        f"{{ openOrders(first: 5) {{ nodes {{ orderId }} plan {{ {TRACE} }} }} }}",
        STAFF,
    )
    assert not answer["errors"]
    adds_up(answer["data"]["openOrders"])
    plan = answer["data"]["openOrders"]["plan"]
    assert plan["fullPages"]["requests"] == len(plan["segments"]) == 8


@pytest.mark.usefixtures("stored")
async def test_a_plan_without_traced_fields_needs_no_trace(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def weighed(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("features.plans.trace.alternatives", weighed)
    asked = '{ product(productId: "42") { comments(rating: [1, 5]) { plan { %s } } } }'
    answer = await run(asked % "index segments { limit itemsRead }")
    assert not answer["errors"]
    answer = await run(asked % "alternatives { index }")
    assert answer["errors"]


def test_each_field_that_needs_a_trace_is_in_the_schema_and_has_a_cost() -> None:
    fields = {
        "steps": "steps { index }",
        "rows": "rows { outcome }",
        "alternatives": "alternatives { segments { limit } }",
        "fullPages": "fullPages { requests }",
        "ideal": "ideal { requests }",
    }
    assert TRACED.paths == tuple(("plan", name) for name in fields)
    asked = '{ product(productId: "1") { comments { plan { %s } } } }'
    values = {name: cost_of(asked % field)[1] - 3 for name, field in fields.items()}
    assert values == {
        "steps": 4,
        "rows": 80,
        "alternatives": 44,
        "fullPages": 2,
        "ideal": 2,
    }
    many = " ".join(
        f"c{n}: comments {{ plan {{ rows {{ outcome }} }} }}"
        for n in range(MAX_ANSWER_VALUES // 80)
    )
    assert cost_of(f'{{ product(productId: "1") {{ {many} }} }}')[1] > MAX_ANSWER_VALUES


FIGURES = """
query ($rating: [Int!]) {
  product(productId: "42") {
    comments(rating: $rating, language: "de", first: 3) {
      plan {
        accessPattern index residual requests itemsRead consumedCapacity estimatedCapacity
        planningRequests segments { partitionKey range limit itemsRead refills skipped }
      }
    }
  }
}
"""


async def plan_of(run: Run, rating: list[int]) -> dict[str, Any]:
    answer = await run(FIGURES, rating=rating)
    plan: dict[str, Any] = answer["data"]["product"]["comments"]["plan"]
    return plan


@pytest.mark.usefixtures("stored")
async def test_the_plan_has_the_index_and_the_ranges_that_were_read(run: Run) -> None:
    plan = await plan_of(run, [5])
    fives = oracle.selected(DATA, Selection("42", frozenset({5}), frozenset({"de"})))
    read = min(3, len(fives))
    assert plan == {
        "accessPattern": "AP3a",
        "index": "byLangAndRating",
        "residual": [],
        "requests": 1,
        "itemsRead": read,
        "consumedCapacity": 0.5,
        "estimatedCapacity": None,
        "planningRequests": 0,
        "segments": [
            {
                "partitionKey": "PRODUCT#42/de/5",
                "range": "all",
                "limit": 3,
                "itemsRead": read,
                "refills": 0,
                "skipped": False,
            }
        ],
    }


@pytest.mark.usefixtures("stored")
async def test_a_plan_chosen_by_statistics_has_an_estimated_capacity(run: Run) -> None:
    plan = await plan_of(run, [2, 5])
    assert plan["accessPattern"] == "AP3a"
    assert plan["planningRequests"] == 2, "the counts and the size of the rows"
    assert plan["estimatedCapacity"] >= 0.5
    assert plan["itemsRead"] == sum(segment["itemsRead"] for segment in plan["segments"])
    assert all(segment["partitionKey"].startswith("PRODUCT#42/de") for segment in plan["segments"])
    again = await plan_of(run, [2, 5])
    assert again["planningRequests"] == 0
